# Batch files.
set(KVERN_BATCH_SOURCES
  batch/batch_job.cc batch/batch_line.cc batch/batch_run.cc batch/line_reader.cc batch/result_file.cc)
