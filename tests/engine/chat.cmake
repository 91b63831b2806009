foreach(test chat_prompt reply_parser tool_call_structure tool_call_style user_text)
  kvern_add_test(chat/${test}_test.cc LINK kvern::engine)
endforeach()
