set(KVERN_KERNEL_SOURCES
  context.cc
  cpu_target.cc
  tensor/dtype.cc
  threads/pool.cc)
# Each kernel worker keeps a list of its own.
include(kernels/matmul.cmake OPTIONAL)
include(kernels/vector.cmake OPTIONAL)
list(APPEND KVERN_KERNEL_SOURCES ${KVERN_MATMUL_SOURCES} ${KVERN_VECTOR_SOURCES})
