foreach(name transformers gguf_twin kvern_tiny exactness kv_exactness)
  # Whole models many times over: a sanitizer takes minutes for it.
  kvern_add_test(graphs/${name}_test.cc LINK kvern::model TIMEOUT 1500)
endforeach()
kvern_add_test(graphs/shared_test.cc LINK kvern::model LABELS shared)
kvern_add_test(model_test.cc LINK kvern::model)
