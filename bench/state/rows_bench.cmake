add_executable(rows_bench state/rows_bench.cc)
target_link_libraries(rows_bench PRIVATE kvern::state)
