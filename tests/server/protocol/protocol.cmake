add_library(kvern_protocol_test_support STATIC
  ${CMAKE_CURRENT_LIST_DIR}/support/protocol_world.cc ${CMAKE_CURRENT_LIST_DIR}/support/scripted_service.cc)
target_link_libraries(kvern_protocol_test_support PUBLIC kvern::server kvern_test_support)
foreach(name context error_style fields generation_run id_source local_exchange prompt_length query_fields request_errors thread_executor
             openai/chat_answer openai/chat_request openai/completion_answer openai/completion_request
             openai/logprobs_json openai/malformed openai/routes
             anthropic/errors anthropic/malformed anthropic/message_answer anthropic/message_request
             kv/routes kv/transfer_routes llama/routes reply_handler
             responses/malformed responses/response_answer responses/response_request responses/response_store
             responses/stored_routes runs/run runs/runs)
  kvern_add_test(server/protocol/${name}_test.cc LINK kvern::server kvern_protocol_test_support)
endforeach()
