# Installing: the program, the static libraries with their CMake package (find_package(kvern)) and pkg-config files, the public
# headers of include/kvern. Users link kvern::engine, or kvern::state alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# In the order in which a linker needs them: users before what they use.
set(KVERN_MODEL_LAYERS engine store model text)
set(KVERN_STATE_LAYERS state compute base)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kvern)
foreach(layer ${KVERN_MODEL_LAYERS} ${KVERN_STATE_LAYERS})
  install(TARGETS kvern_${layer} EXPORT kvern_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
list(TRANSFORM KVERN_MODEL_LAYERS PREPEND " -lkvern_" OUTPUT_VARIABLE KVERN_PC_LIBS)
list(TRANSFORM KVERN_STATE_LAYERS PREPEND " -lkvern_" OUTPUT_VARIABLE KVERN_STATE_PC_LIBS)
list(JOIN KVERN_PC_LIBS "" KVERN_PC_LIBS)
list(JOIN KVERN_STATE_PC_LIBS "" KVERN_STATE_PC_LIBS)
install(EXPORT kvern_targets NAMESPACE kvern:: FILE kvernTargets.cmake DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kvernConfig.cmake.in ${PROJECT_BINARY_DIR}/kvernConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvernConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kvernConfig.cmake ${PROJECT_BINARY_DIR}/kvernConfigVersion.cmake
  DESTINATION ${package_dir})

# The way from the pkg-config files to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH KVERN_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
foreach(name kvern kvern-state)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(TARGETS kvern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(EXISTS ${PROJECT_SOURCE_DIR}/include/kvern)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kvern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The service (packaging/README.md). The unit names /usr/bin: with another prefix its paths are changed by the administrator.
set(KVERN_SYSTEMD_UNIT_DIR "lib/systemd/system" CACHE STRING "Where the unit goes, below the prefix; empty: nowhere")
if(KVERN_SYSTEMD_UNIT_DIR)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/kvern.service DESTINATION ${KVERN_SYSTEMD_UNIT_DIR})
endif()
# In two folders as in the source, so that links between pages hold.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/packaging DESTINATION ${CMAKE_INSTALL_DOCDIR})
