# Transport, keys, metrics, and what ties them together.
set(KVERN_SERVER_SOURCES
  app/app.cc app/cors.cc app/request_log.cc app/serving.cc
  auth/api_keys.cc
  config/config_file.cc config/values.cc
  http/answer.cc http/connection.cc http/exchange.cc http/http_error.cc http/http_server.cc http/listener.cc
  http/request_reader.cc http/response_head.cc http/router.cc http/sse.cc http/stream.cc http/target.cc
  http/worker_pool.cc
  metrics/metrics.cc metrics/metrics_text.cc metrics/observed_service.cc metrics/process_stats.cc
  metrics/service_metrics.cc)
if(KVERN_SANITIZE MATCHES "thread")
  # ThreadSanitizer does not see fences. What Asio orders by them is ordered by the lock of its queue as well.
  set(KVERN_SERVER_DEFINITIONS BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
