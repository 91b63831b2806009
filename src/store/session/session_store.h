// Names for saved prefixes: what a conversation is called, and its tokens. Each is a file of its own beside
// the blocks: docs/formats/kv-session.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/result.h"

namespace kvern::store {

/// A value.
struct Session {
  std::string name;
  Sha256Digest root{};  ///< PrefixSpace::root: whose it is, and of what model
  int64_t created_seconds = 0;
  std::vector<int32_t> tokens;

  bool operator==(const Session&) const = default;
};

/// 1 to 200 bytes of UTF-8 without control characters.
bool is_session_name(std::string_view name);

/// Thread-safe, also between processes: what is written last counts. Everything is by root and name, and
/// finds nothing of another root.
class SessionStore {
 public:
  /// `files` is borrowed; `directory` is that of a DiskStore.
  SessionStore(Files& files, std::string directory);

  /// Durable when it returns; replaces one of the same name.
  Status put(const Session& session);
  /// kCorrupt when its file is damaged.
  Result<std::optional<Session>> find(const Sha256Digest& root, const std::string& name) const;
  /// All, by name. Files that are damaged are left out.
  Result<std::vector<Session>> list() const;
  /// Those of one root.
  Result<std::vector<Session>> list(const Sha256Digest& root) const;
  /// kNotFound when there is none.
  Status erase(const Sha256Digest& root, const std::string& name);

 private:
  std::string path(const Sha256Digest& root, const std::string& name) const;

  Files& files_;
  std::string folder_;
  std::string parent_;
};

/// A file's content, and back: kCorrupt for anybody's bytes.
std::string encode_session(const Session& session);
Result<Session> decode_session(std::string_view text, const std::string& where);

}  // namespace kvern::store
