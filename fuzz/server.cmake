kvern_add_fuzzer(reply_parser LINK kvern::engine)
if(TARGET kvern_protocol_test_support)
  kvern_add_fuzzer(openai_request LINK kvern::server kvern_protocol_test_support)
endif()
