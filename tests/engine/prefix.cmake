foreach(test cases prefix_cache prefix_tree)
  kvern_add_test(prefix/${test}_test.cc LINK kvern::engine)
endforeach()
