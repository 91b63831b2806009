# Kernels on rows and elements; paths relative to src/compute.
set(KVERN_VECTOR_SOURCES
  kernels/activation.cc
  kernels/convert.cc
  kernels/elementwise.cc
  kernels/norm.cc
  kernels/rope.cc
  kernels/rope_table.cc
  kernels/softmax.cc)
