// What the operating system says about this process, under the names that Prometheus' own libraries use.
#pragma once

#include "server/metrics/metrics_text.h"

namespace kvern::server {

/// Resident and virtual memory, CPU time, start time, descriptors. What the system does not say is left out.
void write_process_stats(MetricsText& out);

}  // namespace kvern::server
