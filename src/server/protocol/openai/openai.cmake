list(APPEND KVERN_PROTOCOL_SOURCES
  protocol/openai/answer_parts.cc protocol/openai/chat_answer.cc protocol/openai/chat_request.cc protocol/openai/completion_answer.cc
  protocol/openai/completion_request.cc protocol/openai/constraint_fields.cc
  protocol/openai/generation_fields.cc protocol/openai/logprobs_json.cc protocol/openai/message_fields.cc protocol/openai/prompt_fields.cc
  protocol/openai/routes.cc protocol/openai/template_fields.cc protocol/openai/tool_fields.cc)
