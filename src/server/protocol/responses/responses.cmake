list(APPEND KVERN_PROTOCOL_SOURCES
  protocol/responses/input_items.cc protocol/responses/response_answer.cc protocol/responses/response_events.cc
  protocol/responses/response_request.cc protocol/responses/response_store.cc protocol/responses/routes.cc
  protocol/responses/stored_routes.cc protocol/responses/tool_fields.cc)
