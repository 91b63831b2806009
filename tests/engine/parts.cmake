foreach(test load/engine load/kv_settings load/text_parts request/request loop/session request/text_stream measure/kv_comparison measure/measure
        api/language_model)
  kvern_add_test(${test}_test.cc LINK kvern::engine)
endforeach()

add_executable(engine_api_c_language_model ${CMAKE_CURRENT_LIST_DIR}/api/c_language_model.c)
set_target_properties(engine_api_c_language_model PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_link_libraries(engine_api_c_language_model PRIVATE kvern::engine)
target_include_directories(engine_api_c_language_model PRIVATE ${PROJECT_SOURCE_DIR}/tests)
add_test(NAME engine/api/c_language_model
  COMMAND engine_api_c_language_model ${PROJECT_SOURCE_DIR}/models/kvern-tiny-8m-q8_0.gguf)
set_tests_properties(engine/api/c_language_model PROPERTIES LABELS "fast" TIMEOUT 120)
