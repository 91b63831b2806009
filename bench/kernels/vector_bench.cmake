# Kernels on rows and elements, and attention through the KV cache. They need Google Benchmark, which a user who only
# builds the program does not.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(vector_bench kernels/vector_bench.cc)
  target_link_libraries(vector_bench PRIVATE kvern::compute benchmark::benchmark)
  add_executable(attention_bench kernels/attention_bench.cc)
  target_link_libraries(attention_bench PRIVATE kvern::state benchmark::benchmark)
else()
  message(STATUS "Google Benchmark is not installed: no vector_bench, no attention_bench")
endif()
