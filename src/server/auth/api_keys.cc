#include "server/auth/api_keys.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "server/http/header_names.h"

namespace kvern::server {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{4} << 20;
constexpr size_t kMaxNameLength = 64;

Sha256Digest digest_of(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    const char lower = ascii_lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kMaxNameLength && std::ranges::all_of(text, fits);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

/// Names and keys are told apart by every use of them, so each is there once.
Status check_unique(const std::vector<ApiKey>& keys, const std::string& where) {
  std::set<std::string> names;
  std::set<Sha256Digest> digests;
  for (const ApiKey& key : keys) {
    if (!digests.insert(key.digest).second)
      return fail(ErrorCode::kInvalidArgument, "the key of '" + key.name + "' is there twice", where);
    if (!names.insert(key.name).second)
      return fail(ErrorCode::kInvalidArgument, "two keys have the name '" + key.name + "'", where);
  }
  return Ok{};
}

/// What the client presents as its key.
std::optional<std::string_view> presented_key(const HttpRequest& request) {
  if (const auto header = request.header("Authorization")) {
    const size_t space = std::min(header->find(' '), header->size());
    if (same_header_name(header->substr(0, space), "Bearer")) return trimmed(header->substr(space));
  }
  return request.header("x-api-key");
}

}  // namespace

Result<ApiKey> parse_api_key(std::string_view text, const std::string& where) {
  text = trimmed(text);
  std::string name;
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos && is_name(text.substr(0, colon))) {
    name = text.substr(0, colon);
    text = trimmed(text.substr(colon + 1));
  }
  if (text.empty()) return fail(ErrorCode::kInvalidArgument, "the key is empty", where);
  // What a header can carry, so that a key which could never match is noticed here.
  const auto printable = [](char c) { return c > 0x20 && c < 0x7F; };
  if (!std::ranges::all_of(text, printable))
    return fail(ErrorCode::kInvalidArgument, "a key has printable ASCII characters without spaces", where);
  const Sha256Digest digest = digest_of(text);
  if (name.empty()) name = "key-" + to_hex(digest).substr(0, 8);
  return ApiKey{.name = std::move(name), .digest = digest};
}

Result<std::vector<ApiKey>> parse_api_key_file(std::string_view text, const std::string& path) {
  std::vector<ApiKey> keys;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    KVERN_TRY(ApiKey key, parse_api_key(line, fmt::format("{}:{}", path, number)));
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return fail(ErrorCode::kInvalidArgument, "holds no key", path);
  KVERN_TRY_STATUS(check_unique(keys, path));
  return keys;
}

Result<std::string> ApiKeys::read_text() const {
  if (sources_.file.empty()) return std::string();
  return read_file(files_, sources_.file, kMaxFileBytes);
}

Result<std::vector<ApiKey>> ApiKeys::parse_all(std::string_view file_text) const {
  std::vector<ApiKey> keys;
  if (!sources_.file.empty()) {
    KVERN_TRY(keys, parse_api_key_file(file_text, sources_.file));
  }
  for (const std::string& text : sources_.keys) {
    KVERN_TRY(ApiKey key, parse_api_key(text, "--api-key"));
    keys.push_back(std::move(key));
  }
  KVERN_TRY_STATUS(check_unique(keys, "--api-key"));
  return keys;
}

Result<std::unique_ptr<ApiKeys>> ApiKeys::load(Files& files, const ApiKeySources& sources) {
  std::unique_ptr<ApiKeys> keys(new ApiKeys(files, sources));
  keys->required_ = !sources.keys.empty() || !sources.file.empty();
  KVERN_TRY([[maybe_unused]] const bool changed, keys->reload());
  return keys;
}

Result<bool> ApiKeys::reload() {
  KVERN_TRY(const std::string text, read_text());
  const Sha256Digest digest_bytes = digest_of(text);
  const std::string digest = to_hex(digest_bytes);
  {
    const MutexLock lock(mutex_);
    if (keys_ && digest == file_text_digest_) return false;
  }
  KVERN_TRY(std::vector<ApiKey> keys, parse_all(text));
  auto shared = std::make_shared<const std::vector<ApiKey>>(std::move(keys));
  const MutexLock lock(mutex_);
  keys_ = std::move(shared);
  file_text_digest_ = digest;
  return true;
}

std::optional<std::string> ApiKeys::client_of(const HttpRequest& request) const {
  const auto presented = presented_key(request);
  if (!presented) return std::nullopt;
  const Sha256Digest digest = digest_of(*presented);
  std::shared_ptr<const std::vector<ApiKey>> keys;
  {
    const MutexLock lock(mutex_);
    keys = keys_;
  }
  // Every key is compared, and each comparison takes the same time whatever differs.
  const ApiKey* found = nullptr;
  for (const ApiKey& key : *keys) {
    if (CRYPTO_memcmp(key.digest.data(), digest.data(), digest.size()) == 0) found = &key;
  }
  if (found == nullptr) return std::nullopt;
  return found->name;
}

size_t ApiKeys::size() const {
  const MutexLock lock(mutex_);
  return keys_->size();
}

}  // namespace kvern::server
