foreach(name config_file values)
  kvern_add_test(server/config/${name}_test.cc LINK kvern::server)
endforeach()
