# Sampling: from the logits of one position to one token. Paths are relative to src/engine.
set(KVERN_SAMPLE_SOURCES
  sample/adjust.cc
  sample/candidates.cc
  sample/filters.cc
  sample/logprobs.cc
  sample/params.cc
  sample/philox.cc
  sample/portable_math.cc
  sample/sample.cc
  sample/stop_matcher.cc)
