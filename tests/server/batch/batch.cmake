foreach(test batch_job batch_line batch_run line_reader result_file)
  kvern_add_test(server/batch/${test}_test.cc LINK kvern::server)
endforeach()
