// The control of the conformance suite: each planted fault (state/planted_fault.h) must make it fail within
// 200 scripts, and without one the same build must pass. Each fault runs in a process of its own; one that
// crashes or hangs is found, too.
#include "conformance/script.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state/planted_fault.h"

namespace kvern::state {

Fault planted_fault = Fault::kNone;

}  // namespace kvern::state

namespace kvern::conformance {
namespace {

using state::Fault;

constexpr uint64_t kScripts = 200;
constexpr unsigned kSeconds = 100;

constexpr std::array kNames = {"none",
                               "window too narrow",
                               "window too wide",
                               "sink too few",
                               "boundary by step",
                               "future seen",
                               "scale of neighbour",
                               "softmax count",
                               "tile merged twice",
                               "span missing",
                               "sink logit of other head",
                               "other layer",
                               "wrong slot after wrap",
                               "ring copied from start",
                               "shared page written",
                               "stale copy",
                               "freed while shared",
                               "padded column",
                               "fork misses newest",
                               "one form cut",
                               "rollback keeps one",
                               "dropped early",
                               "dropped late",
                               "old positions not encoded",
                               "failure keeps storage",
                               "records shifted",
                               "head not extracted",
                               "scales not saved",
                               "window not saved",
                               "forbidden cut passes",
                               "drops one each step",
                               "tokens of other row",
                               "spans merged backwards"};
static_assert(kNames.size() == static_cast<size_t>(Fault::kLast) + 1);

// Tells the number of scripts that passed through `out`, and whether any failed by the exit status.
[[noreturn]] void run_child(Fault fault, int out) {
  alarm(kSeconds);
  state::planted_fault = fault;
  const Product product;
  for (uint64_t script = 0; script < kScripts; ++script) {
    if (fails(product, script)) _exit(1);
    const char passed = '.';
    if (write(out, &passed, 1) != 1) _exit(3);
  }
  _exit(0);
}

struct Outcome {
  uint64_t passed = 0;
  bool found = false;
  int signal = 0;
};

Outcome run_with(Fault fault) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    // What a broken library says when it notices is no news here.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
    close(ends[0]);
    run_child(fault, ends[1]);
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[256];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    outcome.passed += static_cast<uint64_t>(got);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.found = outcome.signal != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 1);
  return outcome;
}

int run_all() {
  int wrong = 0;
  for (int f = 0; f <= static_cast<int>(Fault::kLast); ++f) {
    const Outcome outcome = run_with(static_cast<Fault>(f));
    const bool right = outcome.found == (f != 0);
    wrong += right ? 0 : 1;
    std::printf("%-26s %s after %3llu scripts%s\n", kNames[static_cast<size_t>(f)],
                outcome.found ? "found" : "green", static_cast<unsigned long long>(outcome.passed),
                outcome.signal != 0 ? " by a crash"
                : right             ? ""
                                    : " (wrong)");
    std::fflush(stdout);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kvern::conformance

int main() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return kvern::conformance::run_all();
}
