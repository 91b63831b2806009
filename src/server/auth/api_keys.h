// Who may ask: API keys, and the names that stand for them in logs, in fairness and in namespaces.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/result.h"
#include "server/http/exchange.h"

namespace kvern::server {

/// Only digests are kept.
struct ApiKey {
  std::string name;
  Sha256Digest digest{};
};

/// "key" or "name:key". A name has letters, digits, "_", "-" and "."; what stands before the first ":" and is
/// none belongs to the key. A key without a name is called "key-" and the first 8 digits of its SHA-256,
/// which says nothing about it. kInvalidArgument, with `where`: an empty key, or one with spaces.
Result<ApiKey> parse_api_key(std::string_view text, const std::string& where);

/// A file of keys, one a line; empty lines and lines that begin with "#" count for nothing. Errors name the
/// line. A name or a key that is there twice is an error, and so is a file without any key.
Result<std::vector<ApiKey>> parse_api_key_file(std::string_view text, const std::string& path);

struct ApiKeySources {
  std::vector<std::string> keys;  ///< as parse_api_key takes them
  std::string file;               ///< path, or empty
};

/// The keys that count now. Thread-safe.
class ApiKeys {
 public:
  /// `files` outlives it. No sources: nobody needs a key.
  static Result<std::unique_ptr<ApiKeys>> load(Files& files, const ApiKeySources& sources);

  bool required() const { return required_; }
  /// The name of the key that came with the request ("Authorization: Bearer ..." or "x-api-key"), if it is
  /// one. Takes the same time for every wrong key.
  std::optional<std::string> client_of(const HttpRequest& request) const;
  /// Reads the file again. True when other keys count now. On an error the old ones still do.
  Result<bool> reload();
  size_t size() const;

 private:
  ApiKeys(Files& files, ApiKeySources sources) : files_(files), sources_(std::move(sources)) {}
  Result<std::string> read_text() const;
  Result<std::vector<ApiKey>> parse_all(std::string_view file_text) const;

  Files& files_;
  const ApiKeySources sources_;
  bool required_ = false;
  mutable Mutex mutex_;
  std::string file_text_digest_ KVERN_GUARDED_BY(mutex_);
  std::shared_ptr<const std::vector<ApiKey>> keys_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::server
