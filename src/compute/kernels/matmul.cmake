set(KVERN_MATMUL_SOURCES
  kernels/matmul.cc
  kernels/weights/decode_row.cc)
