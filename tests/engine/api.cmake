# The public interface. Programs in C are tests, too: they show that the header is C.
foreach(test engine event_queue language_model options request_grammars)
  kvern_add_test(api/${test}_test.cc LINK kvern::engine)
endforeach()
foreach(program c_engine c_language_model)
  add_executable(engine_api_${program} ${CMAKE_CURRENT_LIST_DIR}/api/${program}.c)
  set_target_properties(engine_api_${program} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_link_libraries(engine_api_${program} PRIVATE kvern::engine)
  target_include_directories(engine_api_${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_test(NAME engine/api/${program}
    COMMAND engine_api_${program} ${PROJECT_SOURCE_DIR}/models/kvern-tiny-8m-q8_0.gguf)
  set_tests_properties(engine/api/${program} PROPERTIES LABELS "fast" TIMEOUT 120)
endforeach()
