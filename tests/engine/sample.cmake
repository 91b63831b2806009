foreach(test philox portable_math params adjust candidates filters logprobs sample distribution)
  kvern_add_test(sample/${test}_test.cc LINK kvern::engine rapidcheck)
endforeach()
kvern_add_test(sample/stop_matcher_test.cc LINK kvern::engine rapidcheck)
