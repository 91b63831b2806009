add_executable(store_bench ${CMAKE_CURRENT_LIST_DIR}/store_bench.cc)
target_link_libraries(store_bench PRIVATE kvern::store)
add_executable(index_bench ${CMAKE_CURRENT_LIST_DIR}/index_bench.cc)
target_link_libraries(index_bench PRIVATE kvern::store)
