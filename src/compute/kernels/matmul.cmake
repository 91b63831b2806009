set(KVERN_MATMUL_SOURCES
  kernels/matmul.cc
  kernels/matmul_plain.cc
  kernels/matmul_quantized.cc
  kernels/weights/decode_row.cc
  probe/machine_probe.cc)
