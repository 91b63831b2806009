# Kernels on rows and elements, and what the compute layer stands on.
foreach(name activation convert elementwise norm rope softmax)
  kvern_add_test(compute/kernels/${name}_test.cc LINK kvern::compute)
endforeach()
kvern_add_test(compute/context_test.cc LINK kvern::compute)
kvern_add_test(compute/cpu_target_test.cc LINK kvern::compute)
kvern_add_test(compute/fma_contract_test.cc LINK kvern::compute)
kvern_add_test(compute/tensor/dtype_test.cc LINK kvern::compute)
kvern_add_test(compute/threads/pool_test.cc LINK kvern::compute)
