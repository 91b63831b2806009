# Kernels on rows and elements, and attention through the KV cache.
find_package(benchmark REQUIRED)
add_executable(vector_bench kernels/vector_bench.cc)
target_link_libraries(vector_bench PRIVATE kvern::compute benchmark::benchmark)
add_executable(attention_bench kernels/attention_bench.cc)
target_link_libraries(attention_bench PRIVATE kvern::state benchmark::benchmark)
