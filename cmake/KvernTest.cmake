# kvern_add_test(state/codec/f16_test.cc LINK kvern::state LABELS shared)
#
# One executable for each test file. The path is relative to the list file that names it, or to tests/. The name in CTest
# is the path below tests/ without the ending (state/codec/f16_test), the target the same with underscores
# (state_codec_f16_test). The label `fast` is given unless others are named.
set(KVERN_SHARED_DATA_DIR "${PROJECT_SOURCE_DIR}/../shared/data" CACHE PATH "Reference data for the tests labelled shared")
if(KVERN_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()

function(kvern_add_test source)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LINK;LABELS" ${ARGN})
  get_filename_component(path "${source}" ABSOLUTE)
  if(NOT EXISTS "${path}")
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}/tests")
  endif()
  file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/tests" "${path}")
  string(REGEX REPLACE "\\.cc$" "" name "${name}")
  string(REPLACE "/" "_" target "${name}")
  add_executable(${target} "${path}")
  target_link_libraries(${target} PRIVATE ${ARG_LINK} kvern_test_support GTest::gtest GTest::gmock)
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${target})
  # Under the sanitizers an allocation that no machine can give fails as it does without.
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    SKIP_REGULAR_EXPRESSION "all tests skipped" ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1")
endfunction()
