list(APPEND KVERN_PROTOCOL_SOURCES
  protocol/runs/kept_run.cc protocol/runs/reconnect.cc protocol/runs/run.cc protocol/runs/run_scope.cc
  protocol/runs/runs.cc protocol/runs/runs_restore.cc)
