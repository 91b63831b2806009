list(APPEND KVERN_PROTOCOL_SOURCES
  protocol/kv/entry_routes.cc protocol/kv/kv_json.cc protocol/kv/kv_request.cc protocol/kv/prompt_run.cc protocol/kv/routes.cc protocol/kv/session_request.cc
  protocol/kv/session_routes.cc protocol/kv/transfer_routes.cc)
