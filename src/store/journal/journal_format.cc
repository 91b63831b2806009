#include "store/journal/journal_format.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "store/block/wire.h"

namespace kvern::store {
namespace {

constexpr std::string_view kSegmentMagic = "KVRNJRN\n";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kFrameMagic = 0x434A564B;  // "KVJC"
constexpr uint32_t kSnapshotFlag = 1;
constexpr uint64_t kMaxTop = 1024;

constexpr uint32_t kHasLogprob = 1;

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

void write(WireWriter& out, const JournalToken& token) {
  out.number(token.token);
  out.number(token.logprob ? static_cast<uint32_t>(kHasLogprob | token.top.size() << 1) : uint32_t{0});
  if (!token.logprob) return;
  out.number(std::bit_cast<uint32_t>(*token.logprob));
  for (const auto& [id, logprob] : token.top) {
    out.number(id);
    out.number(std::bit_cast<uint32_t>(logprob));
  }
}

bool read(WireReader& in, JournalToken& token) {
  token.token = in.number<int32_t>();
  const auto shape = in.number<uint32_t>();
  if ((shape & kHasLogprob) == 0) return shape == 0;
  const uint32_t count = shape >> 1;
  if (count > kMaxTop) return false;
  token.logprob = std::bit_cast<float>(in.number<uint32_t>());
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto id = in.number<int32_t>();
    token.top.emplace_back(id, std::bit_cast<float>(in.number<uint32_t>()));
  }
  return true;
}

void write(WireWriter& out, const AcceptedRecord& record) {
  out.number(record.previous);
  out.number(record.salt);
  out.number(record.created_ms);
  out.number(record.seed);
  for (const std::string* text :
       {&record.model, &record.id, &record.route, &record.client, &record.cache_namespace})
    out.text(*text);
  out.number(static_cast<uint32_t>(record.headers.size()));
  for (const auto& [name, value] : record.headers) {
    out.text(name);
    out.text(value);
  }
  out.text(record.body);
  out.number(static_cast<uint32_t>(record.prompt.size()));
  out.raw(std::as_bytes(std::span(record.prompt)));
}

bool read(WireReader& in, AcceptedRecord& record) {
  record.previous = in.number<uint64_t>();
  record.salt = in.number<uint64_t>();
  record.created_ms = in.number<int64_t>();
  record.seed = in.number<uint64_t>();
  for (std::string* text :
       {&record.model, &record.id, &record.route, &record.client, &record.cache_namespace})
    *text = in.text();
  const auto headers = in.number<uint32_t>();
  for (uint32_t i = 0; i < headers && in.ok(); ++i) {
    std::string name(in.text());
    record.headers.emplace_back(std::move(name), in.text());
  }
  record.body = in.text();
  const auto ids = in.raw(uint64_t{in.number<uint32_t>()} * sizeof(int32_t));
  record.prompt.resize(ids.size() / sizeof(int32_t));
  if (!ids.empty()) std::memcpy(record.prompt.data(), ids.data(), ids.size());
  return true;
}

void write(WireWriter& out, const StartedRecord& record) { out.number(record.cached_tokens); }
bool read(WireReader& in, StartedRecord& record) {
  record.cached_tokens = in.number<int64_t>();
  return record.cached_tokens >= 0;
}

void write(WireWriter& out, const SampledRecord& record) {
  out.number(record.choice);
  out.number(static_cast<uint32_t>(record.tokens.size()));
  out.number(record.first);
  for (const JournalToken& token : record.tokens) write(out, token);
}

bool read(WireReader& in, SampledRecord& record) {
  record.choice = in.number<uint32_t>();
  const auto count = in.number<uint32_t>();
  record.first = in.number<uint64_t>();
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    if (!read(in, record.tokens.emplace_back())) return false;
  }
  return true;
}

void write(WireWriter& out, const EndedRecord& record) {
  out.number(record.previous);
  out.number(record.expires_ms);
  out.text(record.content);
  out.text(record.events);
}

bool read(WireReader& in, EndedRecord& record) {
  record.previous = in.number<uint64_t>();
  record.expires_ms = in.number<int64_t>();
  record.content = in.text();
  record.events = in.text();
  return true;
}

void write(WireWriter&, const ForgottenRecord&) {}
bool read(WireReader&, ForgottenRecord&) { return true; }

template <typename Record>
Result<JournalRecord> decode(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  Record record;
  record.run = in.number<uint64_t>();
  if (!read(in, record) || !in.ok() || in.left() != 0 || record.run == 0)
    return fail(ErrorCode::kCorrupt, "a record of the journal contradicts itself");
  return record;
}

void put(std::span<std::byte> out, size_t at, auto value) { std::memcpy(&out[at], &value, sizeof value); }
template <typename T>
T get(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, &bytes[at], sizeof value);
  return value;
}

/// Of the first 32 bytes of a frame and of its payload, at home in this segment alone.
Xxh3Digest128 frame_checksum(uint64_t segment, std::span<const std::byte> head,
                             std::span<const std::byte> payload) {
  const std::array<std::span<const std::byte>, 3> parts = {std::as_bytes(std::span(&segment, 1)), head,
                                                           payload};
  return xxh3_128(parts);
}

}  // namespace

uint64_t run_of(const JournalRecord& record) {
  return std::visit([](const auto& each) { return each.run; }, record);
}

uint16_t type_of(const JournalRecord& record) { return static_cast<uint16_t>(record.index() + 1); }

std::vector<std::byte> encode_record(const JournalRecord& record) {
  WireWriter out;
  out.number(run_of(record));
  std::visit([&](const auto& each) { write(out, each); }, record);
  return std::move(out.bytes());
}

Result<JournalRecord> decode_record(uint16_t type, std::span<const std::byte> bytes) {
  switch (type) {
    case 1:
      return decode<AcceptedRecord>(bytes);
    case 2:
      return decode<StartedRecord>(bytes);
    case 3:
      return decode<SampledRecord>(bytes);
    case 4:
      return decode<EndedRecord>(bytes);
    case 5:
      return decode<ForgottenRecord>(bytes);
    default:
      return fail(ErrorCode::kUnsupported, fmt::format("records of type {} are not known", type));
  }
}

std::array<std::byte, kSegmentHeaderBytes> encode_segment_header(const SegmentHeader& header) {
  std::array<std::byte, kSegmentHeaderBytes> out{};
  std::memcpy(out.data(), kSegmentMagic.data(), kSegmentMagic.size());
  put(out, 8, kVersion);
  put(out, 12, kVersion);  // the oldest version whose readers understand it
  put(out, 16, header.number);
  put(out, 24, header.first_sequence);
  put(out, 32, header.snapshot ? kSnapshotFlag : 0U);
  const std::span<const std::byte> head = std::span(out).first(48);
  const Xxh3Digest128 checksum = xxh3_128(std::span(&head, 1));
  std::memcpy(&out[48], checksum.data(), checksum.size());
  return out;
}

Result<SegmentHeader> decode_segment_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kSegmentHeaderBytes || std::memcmp(bytes.data(), kSegmentMagic.data(), 8) != 0)
    return fail(ErrorCode::kCorrupt, "no segment of a journal");
  const std::span<const std::byte> head = bytes.first(48);
  const Xxh3Digest128 checksum = xxh3_128(std::span(&head, 1));
  if (std::memcmp(&bytes[48], checksum.data(), checksum.size()) != 0)
    return fail(ErrorCode::kCorrupt, "the head of a segment is damaged");
  if (get<uint32_t>(bytes, 12) > kVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("version {} of the journal's format needs a newer program; this one knows {}",
                            get<uint32_t>(bytes, 8), kVersion));
  }
  return SegmentHeader{.number = get<uint64_t>(bytes, 16),
                       .first_sequence = get<uint64_t>(bytes, 24),
                       .snapshot = (get<uint32_t>(bytes, 32) & kSnapshotFlag) != 0};
}

void append_frame(const FrameHeader& header, uint64_t segment, std::span<const std::byte> payload,
                  std::vector<std::byte>& out) {
  KVERN_CHECK(payload.size() <= kMaxRecordBytes);
  const size_t at = out.size();
  out.resize(at + padded(kFrameHeaderBytes + payload.size()));
  const std::span<std::byte> frame = std::span(out).subspan(at);
  put(frame, 0, kFrameMagic);
  put(frame, 4, static_cast<uint32_t>(payload.size()));
  put(frame, 8, uint32_t{header.type});
  put(frame, 16, header.sequence);
  put(frame, 24, header.durable);
  const Xxh3Digest128 checksum = frame_checksum(segment, frame.first(32), payload);
  std::memcpy(&frame[32], checksum.data(), checksum.size());
  if (!payload.empty()) std::memcpy(&frame[kFrameHeaderBytes], payload.data(), payload.size());
}

bool looks_like_frame(std::span<const std::byte> bytes) {
  return bytes.size() >= kFrameHeaderBytes && get<uint32_t>(bytes, 0) == kFrameMagic;
}

std::optional<Frame> read_frame(std::span<const std::byte> bytes, uint64_t segment) {
  if (!looks_like_frame(bytes)) return std::nullopt;
  const size_t size = get<uint32_t>(bytes, 4);
  if (size > kMaxRecordBytes || padded(kFrameHeaderBytes + size) > bytes.size()) return std::nullopt;
  const auto payload = bytes.subspan(kFrameHeaderBytes, size);
  const Xxh3Digest128 checksum = frame_checksum(segment, bytes.first(32), payload);
  if (std::memcmp(&bytes[32], checksum.data(), checksum.size()) != 0) return std::nullopt;
  Frame frame;
  frame.type = static_cast<uint16_t>(get<uint32_t>(bytes, 8));
  frame.sequence = get<uint64_t>(bytes, 16);
  frame.durable = get<uint64_t>(bytes, 24);
  frame.payload = payload;
  frame.bytes = padded(kFrameHeaderBytes + size);
  return frame;
}

}  // namespace kvern::store
