add_executable(matmul_bench kernels/matmul_bench.cc)
target_link_libraries(matmul_bench PRIVATE kvern::compute)
target_include_directories(matmul_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)
