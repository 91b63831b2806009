list(APPEND KVERN_PROTOCOL_SOURCES
  protocol/anthropic/content_fields.cc protocol/anthropic/errors.cc protocol/anthropic/message_answer.cc
  protocol/anthropic/message_fields.cc protocol/anthropic/message_request.cc protocol/anthropic/routes.cc
  protocol/anthropic/tool_fields.cc)
