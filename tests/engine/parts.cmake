foreach(test load/engine load/kv_settings load/text_parts request/request loop/session request/text_stream measure/kv_comparison measure/measure)
  kvern_add_test(${test}_test.cc LINK kvern::engine)
endforeach()
