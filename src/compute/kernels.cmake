set(KVERN_KERNEL_SOURCES
  context.cc
  cpu_target.cc
  tensor/dtype.cc
  threads/pool.cc)
# Kernels have lists of their own.
include(kernels/matmul.cmake OPTIONAL)
include(kernels/vector.cmake OPTIONAL)
list(APPEND KVERN_KERNEL_SOURCES ${KVERN_MATMUL_SOURCES} ${KVERN_VECTOR_SOURCES})
