foreach(test load/engine load/kv_settings load/text_parts request/request request/session request/text_stream chat/chat_prompt chat/user_text measure/measure
        api/language_model)
  kvern_add_test(${test}_test.cc LINK kvern::engine)
endforeach()
