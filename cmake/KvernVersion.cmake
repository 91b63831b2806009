# kvern_add_commit(target source): the source may include "commit.h", which defines KVERN_GIT_COMMIT, the commit that the
# build is made from. It is looked up in every build, and written only when it is another.
find_package(Git QUIET)

function(kvern_add_commit target source)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/commit")
  set(write ${CMAKE_COMMAND} "-DGIT=${GIT_EXECUTABLE}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DHEADER=${folder}/commit.h"
    -P "${PROJECT_SOURCE_DIR}/cmake/WriteCommit.cmake")
  # Also now, for tools that read sources without building them.
  execute_process(COMMAND ${write})
  add_custom_target(${target}_commit COMMAND ${write}
    BYPRODUCTS "${folder}/commit.h" COMMENT "" VERBATIM)
  add_dependencies(${target} ${target}_commit)
  set_source_files_properties(${source} PROPERTIES INCLUDE_DIRECTORIES "${folder}")
endfunction()
