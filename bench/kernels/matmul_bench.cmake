add_executable(matmul_bench kernels/matmul_bench.cc)
target_link_libraries(matmul_bench PRIVATE kvern::compute)
target_include_directories(matmul_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)

add_executable(exactness_bench kernels/exactness_bench.cc)
target_link_libraries(exactness_bench PRIVATE kvern::compute)
target_include_directories(exactness_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)
# g++-12 takes the undefined operands of its own AVX-512 intrinsics for a mistake.
target_compile_options(exactness_bench PRIVATE -Wno-uninitialized)
