// Files kept in memory: for tests, and for embedders that have no file system.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"

namespace kvern {

/// An empty in-memory file system. Thread-safe. Directories exist when made or when a file lies below them.
std::unique_ptr<Files> make_memory_files();

}  // namespace kvern
