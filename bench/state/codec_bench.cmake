# The codecs' kernels by themselves. Needs Google Benchmark, as the others do.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(codec_bench state/codec_bench.cc)
  target_link_libraries(codec_bench PRIVATE kvern::state benchmark::benchmark)
else()
  message(STATUS "Google Benchmark is not installed: no codec_bench")
endif()
