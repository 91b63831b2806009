#include "cli/progress_bar.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kvern::cli {
namespace {

constexpr int kCells = 30;
constexpr std::chrono::milliseconds kBetween{100};
/// Before that nobody can say how long it will take.
constexpr std::chrono::seconds kToLearn{2};

}  // namespace

ProgressBar::ProgressBar(Environment& environment, std::string what)
    : environment_(environment), what_(std::move(what)), begin_(environment.clock.now()) {}

bool ProgressBar::update(int64_t done, int64_t all) {
  const auto now = environment_.clock.now();
  if (all > 0 && now - shown_ >= kBetween) {
    shown_ = now;
    const double part = std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
    const int cells = static_cast<int>(part * kCells);
    std::string text =
        fmt::format("{}  [{:#>{}}{:->{}}] {:3.0f} %", what_, "", cells, "", kCells - cells, part * 100);
    const std::chrono::duration<double> passed = now - begin_;
    if (passed > kToLearn && part > 0)
      text += fmt::format("  about {:.0f} s", passed.count() * (1 - part) / part);
    line_.show(text);
  }
  return !environment_.interrupted.load();
}

}  // namespace kvern::cli
