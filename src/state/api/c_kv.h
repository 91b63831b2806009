// What the handles of kvern/kvern.h hold.
#pragma once

#include <memory>
#include <vector>

#include "kvern/kvern.h"
#include "kvern/state.h"

struct kvern_compute {
  kvern::Compute compute;
};

struct kvern_kv {
  kvern::KvState state;
  std::shared_ptr<const std::vector<kvern::KvLayer>> layers;
};

struct kvern_kv_image {
  kvern::KvRowImage image;
  std::vector<std::byte> bytes;  // its byte form, once it was asked for
};

struct kvern_kv_step {
  kvern::KvStep step;
  std::shared_ptr<const std::vector<kvern::KvLayer>> layers;
  std::vector<kvern_step_row> rows;
};
