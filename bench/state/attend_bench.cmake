add_executable(attend_bench state/attend_bench.cc)
target_link_libraries(attend_bench PRIVATE kvern::state)
