# KVERN_GIT_COMMIT: the commit that `kvern --version` names, refreshed whenever CMake runs.
find_package(Git QUIET)
set(KVERN_GIT_COMMIT "unknown")
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(KVERN_GIT_COMMIT "${commit}")
  endif()
endif()
