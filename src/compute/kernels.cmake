set(KVERN_KERNEL_SOURCES
  tensor/dtype.cc)
