# Installing: the program, the static libraries with their CMake package (find_package(kvern)) and pkg-config file, the public
# headers of include/kvern. Users link kvern::engine, or kvern::state alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# In the order in which a linker needs them: users before what they use.
set(KVERN_LAYERS engine model text state compute base)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kvern)
set(KVERN_PC_LIBS "")
foreach(layer ${KVERN_LAYERS})
  install(TARGETS kvern_${layer} EXPORT kvern_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  string(APPEND KVERN_PC_LIBS " -lkvern_${layer}")
endforeach()
install(EXPORT kvern_targets NAMESPACE kvern:: FILE kvernTargets.cmake DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kvernConfig.cmake.in ${PROJECT_BINARY_DIR}/kvernConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvernConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kvernConfig.cmake ${PROJECT_BINARY_DIR}/kvernConfigVersion.cmake
  DESTINATION ${package_dir})

# The way from the pkg-config file to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH KVERN_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/kvern.pc.in ${PROJECT_BINARY_DIR}/kvern.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kvern.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS kvern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(EXISTS ${PROJECT_SOURCE_DIR}/include/kvern)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kvern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
