# Transport, keys, metrics, and what ties them together.
set(KVERN_SERVER_SOURCES
  http/answer.cc http/connection.cc http/exchange.cc http/http_error.cc http/http_server.cc http/listener.cc
  http/request_reader.cc http/response_head.cc http/router.cc http/sse.cc http/stream.cc http/target.cc
  http/worker_pool.cc)
