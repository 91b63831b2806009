foreach(test load/engine load/text_parts request/request request/session request/text_stream chat/chat_prompt measure/measure)
  kvern_add_test(${test}_test.cc LINK kvern::engine)
endforeach()
