foreach(name app cors request_log)
  kvern_add_test(server/app/${name}_test.cc LINK kvern::server)
endforeach()
kvern_add_test(server/app/serving_test.cc LINK kvern::server kvern_http_test_support)
