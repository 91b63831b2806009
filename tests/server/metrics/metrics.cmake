foreach(name metrics metrics_text observed_service process_stats service_metrics)
  kvern_add_test(server/metrics/${name}_test.cc LINK kvern::server)
endforeach()
