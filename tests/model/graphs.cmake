foreach(name transformers kvern_tiny exactness)
  kvern_add_test(graphs/${name}_test.cc LINK kvern::model)
endforeach()
kvern_add_test(graphs/shared_test.cc LINK kvern::model LABELS shared)
