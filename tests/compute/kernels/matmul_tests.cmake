kvern_add_test(kernels/weights_test.cc LINK kvern::compute)
kvern_add_test(kernels/weights_golden_test.cc LINK kvern::compute LABELS shared)
kvern_add_test(kernels/matmul_test.cc LINK kvern::compute)
kvern_add_test(kernels/matmul_exact_test.cc LINK kvern::compute)
