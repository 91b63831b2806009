// Who joins the batch: rows that were moved out, then waiting requests.
#include <algorithm>
#include <utility>

#include "engine/loop/batch.h"

namespace kvern::engine {
namespace {

// A prompt waits for another that is being computed when it gets so many tokens from it.
constexpr int64_t kWorthWaiting = 32;

bool older(const Row* a, const Row* b) {
  return std::pair(a->request->order, a->choice) < std::pair(b->request->order, b->choice);
}

/// How many tokens two prompts share, at most all but the last of `prompt`.
int64_t common_tokens(std::span<const TokenId> prompt, std::span<const TokenId> other) {
  const auto differs = std::ranges::mismatch(prompt.first(prompt.size() - 1), other);
  return differs.in1 - prompt.begin();
}

}  // namespace

int64_t Batch::places() const {
  int64_t sum = 0;
  for (const Row* row : running_) sum += places_of(*row);
  for (const Row* row : outside_) sum += places_of(*row);
  for (const Follower& follower : followers_) sum += follower.request->spec.choices;
  for (const Restoring& restoring : restoring_) {
    for (const Request* request : restoring.requests) sum += request->spec.choices;
  }
  return sum;
}

void Batch::join(Row& row) {
  running_.insert(std::ranges::upper_bound(running_, &row, older), &row);
  steps_to_look_ = 0;
}

void Batch::insert_outside(Row& row) {
  outside_.insert(std::ranges::upper_bound(outside_, &row, older), &row);
}

// Whether `bytes` more find room beside the running rows; kept prefixes go for it. With nobody else there is
// always room: the request has been found to fit alone.
bool Batch::make_room(const Row& row, size_t bytes) {
  std::vector<Row*> others;
  for (Row* other : running_) {
    if (other != &row) others.push_back(other);
  }
  if (others.empty() && restoring_.empty()) return true;
  bytes += restoring_bytes();
  for (;;) {
    const Room room = storage_.room_for_row(row, bytes, others);
    if (room == Room::kFree) return true;
    if (room == Room::kNone || !storage_.evict_prefix()) return false;
  }
}

void Batch::bring_in() {
  while (!outside_.empty()) {
    Row& row = *outside_.front();
    if (row.rests) return;
    if (!make_room(row, storage_.image_bytes(row))) return;
    Status back = storage_.bring_in(row);
    while (!back && back.error().code == ErrorCode::kExhausted && storage_.evict_prefix())
      back = storage_.bring_in(row);
    if (!back && back.error().code == ErrorCode::kExhausted && !running_.empty()) return;
    outside_.erase(outside_.begin());
    if (!back) {
      fail_request(*row.request, std::move(back).error());
      continue;
    }
    row.advanced_tokens = 0;
    ++stats_.moved_in;
    join(row);
  }
}

// The running row whose unfinished prompt gives most of this one.
std::optional<Batch::Follower> Batch::leader_of(Request& request) const {
  const ServiceRequest& spec = request.spec;
  if (!spec.reuse_prefix || spec.prompt_logprobs) return std::nullopt;
  std::optional<Follower> best;
  for (const Row* row : running_) {
    const ServiceRequest& other = row->request->spec;
    if (!in_prefill(*row) || !other.reuse_prefix || other.cache_namespace != spec.cache_namespace) continue;
    const int64_t common = common_tokens(spec.generate.prompt, row->tokens);
    if (common < row->held + kWorthWaiting || (best && best->common >= common)) continue;
    best = Follower{.request = &request, .leader = row->request->ticket, .common = common};
  }
  return best;
}

bool Batch::still_leads(const Follower& follower) const {
  return std::ranges::any_of(running_, [&](const Row* row) {
    return row->request->ticket == follower.leader && in_prefill(*row) && row->held < follower.common;
  });
}

// Requests that waited for a prompt which is computed now, in order: one that cannot start lets none pass.
void Batch::start_followers() {
  while (!followers_.empty()) {
    Follower& first = followers_.front();
    if (first.request->done) {
      followers_.erase(followers_.begin());
      continue;
    }
    if (still_leads(first)) break;
    if (const auto next = leader_of(*first.request); next) {
      first = *next;
      break;
    }
    if (!start(*first.request)) return;
    followers_.erase(followers_.begin());
  }
  // Those behind may follow other leaders.
  for (size_t i = 1; i < followers_.size();) {
    if (followers_[i].request->done || still_leads(followers_[i])) {
      ++i;
      continue;
    }
    if (const auto next = leader_of(*followers_[i].request); next) {
      followers_[i++] = *next;
      continue;
    }
    if (!start(*followers_[i].request)) return;
    followers_.erase(followers_.begin() + static_cast<ptrdiff_t>(i));
  }
}

void Batch::admit(TimePoint now) {
  // Most often the batch is full, which is known without looking at its rows.
  if (queue_.empty() || std::ssize(running_) + std::ssize(outside_) >= options_.max_rows) return;
  if (places() >= options_.max_rows) return;
  charge();
  // Rows that were moved out come first.
  while (outside_.empty()) {
    const auto item = queue_.next();
    if (!item) return;
    Request& request = *requests_.at(*item);
    if (places() + request.spec.choices > options_.max_rows) return;
    request.started = now;
    const auto leader = leader_of(request);
    if (!leader && blocked_ == std::pair(*item, releases_)) return;
    const TierAnswer answer = ask_tiers(request, leader ? leader->common : 0);
    if (answer == TierAnswer::kAsking) return;
    if (answer == TierAnswer::kComing) {
      request.order = next_order_++;
    } else if (leader) {
      request.order = next_order_++;
      followers_.push_back(*leader);
    } else if (answer == TierAnswer::kNoRoom || !start(request)) {
      blocked_ = {*item, releases_};
      return;
    }
    queue_.remove(request.spec.client, *item);
    queue_.charge(request.spec.client, {.prompt_tokens = request.prompt_tokens() - request.cached_tokens});
  }
}

// Makes its first row.
Status Batch::prepare(Request& request) {
  const GenerateRequest& generate = request.spec.generate;
  auto row = std::make_unique<Row>();
  row->request = &request;
  row->sampling = generate.sampling;
  // The best choices are found by the log-probabilities.
  if (request.gives_best && !row->sampling.top_logprobs) row->sampling.top_logprobs = 0;
  row->tokens = generate.prompt;
  row->prompt_tokens = request.prompt_tokens();
  row->max_new_tokens = generate.max_new_tokens;
  // A grammar allows end tokens exactly where its text may end.
  row->stops_at_end_token = !generate.ignore_end_tokens || request.spec.grammar != nullptr;
  KVERN_TRY(TextStream text, TextStream::create(engine_.tokenizer(), generate.prompt, generate.stop));
  row->text.emplace(std::move(text));
  if (request.spec.grammar) row->grammar.emplace(request.spec.grammar);
  request.rows.push_back(std::move(row));
  request.final_bytes = storage_.final_bytes(request);
  return Ok{};
}

// The first row is there after that, unless the request is over: false then.
bool Batch::begin(Request& request) {
  if (!request.rows.empty()) return !request.done;
  if (Status prepared = prepare(request); !prepared) {
    fail_request(request, std::move(prepared).error());
    return false;
  }
  // The one choice is computed together with its prompt; several have rows of their own only behind it.
  if (request.spec.choices == 1) replay(request);
  return !request.done;
}

// False when there is no room yet. True when it has begun, or is over.
bool Batch::start(Request& request) {
  if (!begin(request)) return true;
  Row& row = *request.rows.front();
  if (!may_join(row)) return false;
  const bool restored = row.kv.has_value();
  Status taken = restored ? Ok{} : storage_.take(row, running_);
  while (!taken && taken.error().code == ErrorCode::kExhausted && storage_.evict_prefix())
    taken = storage_.take(row, running_);
  if (!taken) {
    if (taken.error().code == ErrorCode::kExhausted && !running_.empty()) return false;
    fail_request(request, std::move(taken).error());
    return true;
  }
  if (!make_room(row, storage_.growth_bytes(row))) {
    if (restored) return false;
    storage_.release(row, AfterRow::kRemove);
    row.held = 0;
    return false;
  }
  request.cached_tokens = std::min(row.held, row.prompt_tokens);
  count_prompt(request, request.cached_tokens, 0);
  // One that followed another was charged for all of its prompt when its turn came.
  if (request.order != 0) queue_.charge(request.spec.client, {.prompt_tokens = -request.cached_tokens});
  if (request.order == 0) request.order = next_order_++;
  std::vector<PlannableRow> prompts;
  for (const Row* other : running_) {
    if (in_prefill(*other)) prompts.push_back({.prompt_tokens = 1, .turn = other->turn.turn});
  }
  row.turn = PromptTurn::beside(prompts);
  join(row);
  return true;
}

}  // namespace kvern::engine
