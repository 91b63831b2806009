#include "store/session/session_store.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "store/block/name.h"
#include "store/block/wire.h"
#include "store/disk/content_files.h"

namespace kvern::store {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kLongestName = 200;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr std::string_view kEnding = ".json";

std::unexpected<Error> corrupt(const std::string& where, const char* what) {
  return fail(ErrorCode::kCorrupt, std::string("not a session of saved prefixes: ") + what, where);
}

const json::value* member(const json::object& object, std::string_view name) {
  return object.if_contains(name);
}

Result<std::vector<int32_t>> read_tokens(const json::object& object, const std::string& where) {
  const json::value* value = member(object, "tokens");
  const json::array* array = value == nullptr ? nullptr : value->if_array();
  if (array == nullptr || array->empty()) return corrupt(where, "it has no tokens");
  std::vector<int32_t> tokens;
  tokens.reserve(array->size());
  for (const json::value& item : *array) {
    const int64_t* number = item.if_int64();
    if (number == nullptr || *number < INT32_MIN || *number > INT32_MAX)
      return corrupt(where, "a token is none");
    tokens.push_back(static_cast<int32_t>(*number));
  }
  return tokens;
}

}  // namespace

bool is_session_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && is_valid_utf8(name) &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::string encode_session(const Session& session) {
  return to_json(json::object{{"version", kVersion},
                              {"name", session.name},
                              {"root", to_hex(session.root)},
                              {"created", session.created_seconds},
                              {"tokens", json::array(session.tokens.begin(), session.tokens.end())}});
}

Result<Session> decode_session(std::string_view text, const std::string& where) {
  KVERN_TRY(const json::value value, parse_json(text, where));
  const json::object* object = value.if_object();
  if (object == nullptr) return corrupt(where, "it is no object");
  const json::value* version = member(*object, "version");
  if (version == nullptr || !version->is_int64()) return corrupt(where, "it has no version");
  if (version->as_int64() != kVersion) {
    return fail(ErrorCode::kUnsupported,
                "this session has format " + std::to_string(version->as_int64()) + "; 1 can be read", where);
  }
  const json::value* name = member(*object, "name");
  const json::value* root = member(*object, "root");
  const json::value* created = member(*object, "created");
  if (name == nullptr || !name->is_string() || !is_session_name(name->as_string()))
    return corrupt(where, "it has no name");
  const auto digest =
      root != nullptr && root->is_string() ? parse_content_name(root->as_string()) : std::nullopt;
  if (!digest) return corrupt(where, "it does not say whose it is");
  if (created == nullptr || !created->is_int64()) return corrupt(where, "it does not say when it was made");
  Session session{.name = std::string(name->as_string()),
                  .root = digest->digest,
                  .created_seconds = created->as_int64(),
                  .tokens = {}};
  KVERN_TRY(session.tokens, read_tokens(*object, where));
  return session;
}

SessionStore::SessionStore(Files& files, std::string directory)
    : files_(files), folder_(directory + "/sessions"), parent_(std::move(directory)) {}

// No name becomes a path.
std::string SessionStore::path(const Sha256Digest& root, const std::string& name) const {
  WireWriter out;
  out.raw(root);
  out.text(name);
  return folder_ + "/" + to_hex(sha256(out.bytes())) + std::string(kEnding);
}

Status SessionStore::put(const Session& session) {
  if (!is_session_name(session.name) || session.tokens.empty())
    return fail(ErrorCode::kInvalidArgument, "a session has a name of at most 200 bytes, and tokens", "name");
  KVERN_TRY_STATUS(make_durable_directory(files_, folder_));
  const std::string text = encode_session(session);
  return write_file_atomically(files_, path(session.root, session.name), std::as_bytes(std::span(text)));
}

Result<std::optional<Session>> SessionStore::find(const Sha256Digest& root, const std::string& name) const {
  const std::string file = path(root, name);
  const auto text = read_file(files_, file, kMostBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::optional<Session>();
  if (!text) return std::unexpected(text.error());
  KVERN_TRY(Session session, decode_session(*text, file));
  if (session.root != root || session.name != name) return corrupt(file, "it lies in another's place");
  return std::optional(std::move(session));
}

Result<std::vector<Session>> SessionStore::list() const {
  std::vector<Session> sessions;
  if (!files_.exists(folder_)) return sessions;
  KVERN_TRY(const auto entries, files_.list(folder_));
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_directory || !entry.name.ends_with(kEnding)) continue;
    const std::string file = folder_ + "/" + entry.name;
    const auto text = read_file(files_, file, kMostBytes);
    auto session = text ? decode_session(*text, file) : Result<Session>(std::unexpected(text.error()));
    if (session) sessions.push_back(*std::move(session));
  }
  std::ranges::sort(sessions, {}, &Session::name);
  return sessions;
}

Result<std::vector<Session>> SessionStore::list(const Sha256Digest& root) const {
  KVERN_TRY(auto sessions, list());
  std::erase_if(sessions, [&](const Session& session) { return session.root != root; });
  return sessions;
}

Status SessionStore::erase(const Sha256Digest& root, const std::string& name) {
  auto removed = files_.remove(path(root, name));
  if (!removed && removed.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, "there is no session of this name", "name");
  KVERN_TRY_STATUS(std::move(removed));
  return files_.sync_directory(folder_);
}

}  // namespace kvern::store
