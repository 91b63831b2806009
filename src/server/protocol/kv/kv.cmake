list(APPEND KVERN_PROTOCOL_SOURCES protocol/kv/routes.cc)
