list(APPEND KVERN_PROTOCOL_SOURCES
  protocol/llama/routes.cc protocol/llama/server_info.cc protocol/llama/template_route.cc protocol/llama/tokenizer_routes.cc)
