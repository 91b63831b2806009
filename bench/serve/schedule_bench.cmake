add_executable(schedule_bench serve/schedule_bench.cc)
target_link_libraries(schedule_bench PRIVATE kvern::engine benchmark::benchmark)
