add_executable(prefix_bench serve/prefix_bench.cc)
target_link_libraries(prefix_bench PRIVATE kvern::engine)
