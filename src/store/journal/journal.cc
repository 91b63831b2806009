#include "store/journal/journal.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace kvern::store {
namespace {

/// What is kept for another try when the disk fails; ends and requests, not tokens.
constexpr size_t kMaxUnwritten = 4096;
/// How often is looked whether the journal is due to be written anew, when nothing else happens.
constexpr std::chrono::seconds kIdleCheck{30};
constexpr std::chrono::seconds kRetry{1};

/// Longer texts are not kept.
constexpr size_t kMaxText = kMaxRecordBytes / 4;

int64_t wall_ms(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.wall_now().time_since_epoch()).count();
}

/// Of the runs that were kept, the oldest go until the rest takes no more than this.
void bound_kept(std::vector<JournalledRun>& runs, uint64_t max_bytes) {
  uint64_t bytes = 0;
  for (size_t i = runs.size(); i-- > 0;) {
    if (!runs[i].ended) continue;
    bytes += runs[i].ended->content.size() + runs[i].ended->events.size();
    if (bytes > max_bytes) runs[i].ended.reset();
  }
  std::erase_if(runs, [](const JournalledRun& run) { return !run.ended && !run.accepted; });
}

std::vector<JournalRecord> records_of(const std::vector<JournalledRun>& runs) {
  std::vector<JournalRecord> records;
  for (const JournalledRun& run : runs) {
    if (run.ended) {
      records.emplace_back(*run.ended);
      if (run.hidden) records.emplace_back(ForgottenRecord{run.run});
      continue;
    }
    records.emplace_back(*run.accepted);
    if (run.cached_tokens) records.emplace_back(StartedRecord{run.run, *run.cached_tokens});
    for (size_t choice = 0; choice < run.tokens.size(); ++choice) {
      if (run.tokens[choice].empty()) continue;
      records.emplace_back(SampledRecord{run.run, static_cast<uint32_t>(choice), 0, run.tokens[choice]});
    }
  }
  return records;
}

}  // namespace

Journal::Journal(const Parts& parts, JournalOptions options) : parts_(parts), options_(std::move(options)) {}

Result<Journal::Opened> Journal::open(const Parts& parts, const JournalOptions& options) {
  KVERN_TRY_STATUS(parts.files.make_directory(options.directory));
  KVERN_TRY_STATUS(parts.files.sync_directory(parent_directory(options.directory)));
  Opened opened;
  opened.journal.reset(new Journal(parts, options));
  Journal& journal = *opened.journal;
  KVERN_TRY(journal.lock_, parts.files.try_lock(options.directory + "/lock", LockKind::kExclusive));
  if (!journal.lock_) {
    return std::unexpected(
        Error{.code = ErrorCode::kExhausted,
              .message = "another process has this journal, and only one can go on with its requests",
              .where = options.directory,
              .retryable = true});
  }
  KVERN_TRY_STATUS(journal.rewrite(&opened.runs));
  journal.thread_ = std::thread([&journal] { journal.run(); });
  return opened;
}

Journal::~Journal() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Journal::push(JournalRecord record, std::function<void()> written, bool urgent) {
  const MutexLock lock(mutex_);
  const bool first = pending_.empty();
  if (first) first_pending_ = std::chrono::steady_clock::now();
  pending_.records.push_back(std::move(record));
  if (written) pending_.written.push_back(std::move(written));
  const bool wake = first || (urgent && !pending_.urgent);
  pending_.urgent |= urgent;
  ++given_;
  if (wake) changed_.notify_all();
}

void Journal::accept(AcceptedRecord record, std::function<void()> written) {
  if (record.body.size() > kMaxText) return written();
  push(std::move(record), std::move(written), true);
}
void Journal::start(StartedRecord record) { push(record, nullptr, false); }
void Journal::end(EndedRecord record) {
  if (record.events.size() > kMaxText) record.events.clear();
  if (record.content.size() > kMaxText) record.content.clear();
  push(std::move(record), nullptr, true);
}
void Journal::forget(uint64_t run) { push(ForgottenRecord{run}, nullptr, true); }

void Journal::sampled(uint64_t run, uint32_t choice, uint64_t index, JournalToken token) {
  const MutexLock lock(mutex_);
  const bool first = pending_.empty();
  if (first) first_pending_ = std::chrono::steady_clock::now();
  pending_.tokens.push_back({.run = run, .choice = choice, .index = index, .token = std::move(token)});
  ++given_;
  if (first) changed_.notify_all();
}

bool Journal::flush(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  const uint64_t last = given_;
  pending_.urgent = true;
  changed_.notify_all();
  while (committed_ < last) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return committed_ >= last;
  }
  return true;
}

JournalStats Journal::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

// False when there is nothing to do yet.
bool Journal::wait_for_work() {
  if (pending_.empty()) {
    if (!stop_) changed_.wait_for(mutex_, failing_ ? kRetry : kIdleCheck);
    return failing_;
  }
  if (stop_ || pending_.urgent || options_.sync == JournalSync::kAlways) return true;
  const auto due = first_pending_ + options_.interval;
  if (std::chrono::steady_clock::now() >= due) return true;
  changed_.wait_until(mutex_, due);
  return false;
}

void Journal::run() {
  mutex_.lock();
  while (!stop_ || !pending_.empty()) {
    const bool work = wait_for_work();
    Pending pending;
    const uint64_t given = given_;
    if (work) pending = std::exchange(pending_, {});
    mutex_.unlock();
    if (work) commit(std::move(pending));
    rewrite_if_due();
    mutex_.lock();
    if (work && !failing_) committed_ = given;
    if (work) changed_.notify_all();
  }
  mutex_.unlock();
}

// Tokens come behind the records, so behind the one that lets their request in.
std::vector<JournalRecord> Journal::records_of(Pending& pending) {
  std::vector<JournalRecord> records = std::move(pending.records);
  std::map<std::pair<uint64_t, uint32_t>, SampledRecord> groups;
  for (Token& token : pending.tokens) {
    SampledRecord& group = groups[{token.run, token.choice}];
    if (group.tokens.empty()) {
      group.run = token.run;
      group.choice = token.choice;
      group.first = token.index;
    }
    group.tokens.push_back(std::move(token.token));
  }
  for (auto& [key, group] : groups) records.emplace_back(std::move(group));
  return records;
}

void Journal::commit(Pending pending) {
  std::vector<JournalRecord> records = std::exchange(unwritten_, {});
  std::ranges::move(records_of(pending), std::back_inserter(records));
  const Status status = write(records);
  const uint64_t written_records = status ? records.size() : 0;
  if (!status) {
    segment_.reset();
    std::erase_if(records,
                  [](const JournalRecord& record) { return std::holds_alternative<SampledRecord>(record); });
    if (records.size() > kMaxUnwritten)
      records.erase(records.begin(), records.end() - static_cast<ptrdiff_t>(kMaxUnwritten));
    unwritten_ = std::move(records);
    if (!std::exchange(failing_, true))
      parts_.log.log(LogLevel::kError, "the journal cannot be written: " + status.error().to_string());
  } else if (std::exchange(failing_, false)) {
    parts_.log.log(LogLevel::kInfo, "the journal is written again");
  }
  {
    const MutexLock lock(mutex_);
    ++stats_.commits;
    if (!status) ++stats_.failures;
    stats_.records += written_records;
    stats_.bytes = old_bytes_ + (segment_ ? segment_->bytes() : 0);
  }
  for (const auto& written : pending.written) written();
}

// After a failure what the segment holds is not known: the next one has what was not written once more.
Status Journal::write(const std::vector<JournalRecord>& records) {
  if (!segment_ || segment_->bytes() >= options_.segment_bytes) KVERN_TRY_STATUS(open_segment());
  KVERN_TRY_STATUS(segment_->append(records));
  last_sequence_ = segment_->last_sequence();
  written_since_rewrite_ = true;
  return options_.sync == JournalSync::kNever ? Status(Ok{}) : segment_->sync();
}

Status Journal::open_segment() {
  if (segment_) {
    KVERN_TRY_STATUS(segment_->sync());
    old_bytes_ += segment_->bytes();
    segment_.reset();
  }
  const SegmentHeader header{
      .number = ++last_segment_, .first_sequence = last_sequence_ + 1, .snapshot = false};
  KVERN_TRY(segment_, JournalSegment::create(parts_.files, options_.directory, header, {}));
  return Ok{};
}

// All that still matters goes into one new segment; what was there before is removed when that has its name.
Status Journal::rewrite(std::vector<JournalledRun>* found) {
  if (segment_) KVERN_TRY_STATUS(segment_->sync());
  KVERN_TRY(JournalRecovery recovery, recover_journal(parts_.files, options_.directory));
  for (const std::string& damage : recovery.damage)
    parts_.log.log(LogLevel::kError, "the journal is damaged: " + damage);
  std::vector<JournalledRun> runs = recovery.state.live(wall_ms(parts_.clock));
  bound_kept(runs, options_.max_bytes / 2);
  last_segment_ = std::max(last_segment_, recovery.last_segment) + 1;
  last_sequence_ = std::max(last_sequence_, recovery.last_sequence);
  const SegmentHeader header{.number = last_segment_, .first_sequence = last_sequence_ + 1, .snapshot = true};
  KVERN_TRY(segment_,
            JournalSegment::create(parts_.files, options_.directory, header, kvern::store::records_of(runs)));
  last_sequence_ = segment_->last_sequence();
  for (const std::string& path : recovery.paths) {
    // One that was not finished may have had the new one's name.
    if (const Status gone = parts_.files.remove(path); !gone && gone.error().code != ErrorCode::kNotFound)
      return gone;
  }
  KVERN_TRY_STATUS(parts_.files.sync_directory(options_.directory));
  old_bytes_ = 0;
  written_since_rewrite_ = false;
  last_rewrite_ = parts_.clock.now();
  if (found != nullptr) {
    *found = std::move(runs);
    next_run_ = recovery.state.last_run() + 1;
  }
  const MutexLock lock(mutex_);
  ++stats_.rewrites;
  stats_.bytes = segment_->bytes();
  return Ok{};
}

void Journal::rewrite_if_due() {
  const uint64_t bytes = old_bytes_ + (segment_ ? segment_->bytes() : 0);
  const bool old = written_since_rewrite_ && parts_.clock.now() - last_rewrite_ >= options_.max_age;
  if (failing_ || !(old || (written_since_rewrite_ && bytes > options_.max_bytes))) return;
  if (const Status status = rewrite(nullptr); !status) {
    parts_.log.log(LogLevel::kError, "the journal cannot be written anew: " + status.error().to_string());
    last_rewrite_ = parts_.clock.now();
    written_since_rewrite_ = false;
  }
}

}  // namespace kvern::store
