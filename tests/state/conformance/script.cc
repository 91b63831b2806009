#include "conformance/script.h"

#include <algorithm>
#include <map>
#include <memory>

#include <rapidcheck/shrinkable/Operations.h>

namespace kvern::conformance {
namespace {

// A number for each row of an operation.
uint32_t roll(const Operation& operation, size_t salt) {
  uint64_t x = (static_cast<uint64_t>(operation.die) << 20) + salt * 0x9e3779b97f4a7c15ULL + 1;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<uint32_t>(x >> 33);
}

class Interpreter {
 public:
  Interpreter(World& world, const Place& place, std::string* log) : world_(world), place_(place), log_(log) {}

  void run(const Script& script) {
    for (int64_t i = 0; i < place_.rows; ++i) world_.add_row();
    note("begin");
    world_.step(ragged({.kind = 0, .row = 0, .amount = 500, .die = 1}, kHome, 14));
    after();
    for (const Operation& operation : script) {
      if (!world_.problem().empty()) return;
      apply(operation);
      after();
    }
    // Whatever went wrong unseen shows in the next token.
    for (const size_t place : {kHome, kAbroad}) {
      if (!world_.problem().empty()) return;
      note("last step");
      world_.step(decode(place));
      after();
    }
  }

 private:
  void after() {
    if (world_.problem().empty()) world_.check();
  }
  void note(const std::string& text) {
    if (log_ != nullptr) *log_ += text + "\n";
  }

  void apply(const Operation& operation) {
    if (world_.rows() == 0 || (operation.kind >= 95 && !full())) {
      note("add row");
      return world_.add_row();
    }
    const size_t row = static_cast<size_t>(operation.row) % world_.rows();
    if (operation.kind < 55) return step(operation, row);
    const std::string of = " row " + std::to_string(row) + " of " + std::to_string(world_.length(row));
    if (operation.kind < 64) return truncate(operation, row, of);
    const bool fails = operation.die % 4 == 0;
    if (operation.kind < 74 && !full()) {
      note((fails ? "without memory fork" : "fork") + of);
      if (fails) world_.fail_after(operation.amount % 3);
      return world_.fork(row);
    }
    if (operation.kind < 84) {
      const size_t to = operation.amount % 3 == 0 ? world_.place(row) : 1 - world_.place(row);
      note((fails ? "without memory move" : "move") + of + " to " + std::to_string(to));
      if (fails) world_.fail_after(operation.amount % 5);
      return world_.move(row, to, operation.amount % 2 == 0);
    }
    if (operation.kind < 88) {
      note("merge");
      if (fails) world_.fail_after(operation.amount % 7);
      return world_.merge();
    }
    if (operation.kind < 90) return filter(operation, row);
    if (operation.kind < 93) {
      note("remove" + of);
      return world_.remove(row);
    }
    note("refuse" + of);
    world_.refused(row);
  }

  bool full() const { return static_cast<int64_t>(world_.rows()) >= Product::kMostRows; }

  void truncate(const Operation& operation, size_t row, const std::string& of) {
    const int64_t least = world_.minimum(row);
    const int64_t room = world_.length(row) - least + 1;
    const bool near = operation.die % 2 == 0;
    const int64_t back = operation.amount % std::max<int64_t>(1, near ? std::min<int64_t>(room, 8) : room);
    note("cut" + of + " by " + std::to_string(back) + ", possible " + std::to_string(room - 1));
    world_.truncate(row, world_.length(row) - back);
  }

  void filter(const Operation& operation, size_t row) {
    std::vector<size_t> keep;
    for (size_t i = 0; i < world_.rows(); ++i) {
      if (world_.place(i) == world_.place(row) && roll(operation, i) % 4 != 0) keep.push_back(i);
    }
    note("filter: keep " + std::to_string(keep.size()));
    world_.filter(world_.place(row), keep);
  }

  void step(const Operation& operation, size_t row) {
    const size_t place = world_.place(row);
    StepPlan plan = planned(operation, row, place);
    const uint32_t die = roll(operation, 1000);
    if (die % 4 == 0) {
      for (Bring& bring : plan.brings) bring.keep = roll(operation, bring.row + 100) % (bring.tokens + 1);
    }
    if (die / 4 % 12 == 0) plan.end = StepEnd::kRollback;
    if (die / 4 % 24 == 1) plan.end = StepEnd::kAbandon;
    if (plan.attends > 0 && die / 128 % 8 == 0) plan.attends = 2;
    const bool fails = die / 1024 % 12 == 0;
    if (fails) world_.fail_after(operation.amount % 4);
    std::string text = fails ? "without memory step" : "step";
    for (const Bring& bring : plan.brings) {
      text += " " + std::to_string(bring.row) + ":" + std::to_string(world_.length(bring.row)) + "+" +
              std::to_string(bring.tokens) + "/" + std::to_string(bring.keep);
    }
    note(text + (plan.end == StepEnd::kCommit ? "" : " undone") + " reads " + std::to_string(plan.attends));
    world_.step(plan);
  }

  StepPlan planned(const Operation& operation, size_t row, size_t place) const {
    const int style = operation.kind;
    const bool is_long = world_.length(row) > 200;
    if (style < 22) return decode(place);
    if (style < 36) return ragged(operation, place, 5);
    if (style < 45 || is_long) return chunk(operation, row, 1 + operation.amount % (is_long ? 12 : 40));
    if (style < 49) return chunk(operation, row, 60 + operation.amount % 10);
    // Long rows are divided between threads where there are few others.
    const bool few = place_.rows <= 4;
    if (style < 53 && !few) return chunk(operation, row, 1 + operation.amount % 9);
    return jump(operation, row);
  }

  // One token for each row.
  StepPlan decode(size_t place) const {
    StepPlan plan;
    for (size_t i = 0; i < world_.rows(); ++i) {
      if (world_.place(i) == place) plan.brings.push_back({i, 1, 1});
    }
    return plan;
  }

  // 0…most tokens of some rows, in a random order.
  StepPlan ragged(const Operation& operation, size_t place, int64_t most) const {
    StepPlan plan;
    for (size_t i = 0; i < world_.rows(); ++i) {
      if (world_.place(i) != place || roll(operation, i) % 5 == 0) continue;
      const auto tokens = static_cast<int64_t>(roll(operation, i + 50)) % (most + 1);
      plan.brings.push_back({i, tokens, tokens});
    }
    if (!plan.brings.empty()) {
      std::ranges::rotate(plan.brings, plan.brings.begin() + operation.amount % std::ssize(plan.brings));
    }
    return plan;
  }

  // Many tokens of one row, beside some that decode.
  StepPlan chunk(const Operation& operation, size_t row, int64_t tokens) const {
    StepPlan plan{.brings = {{row, tokens, tokens}}};
    for (size_t i = 0; i < world_.rows() && plan.brings.size() < 4; ++i) {
      if (i != row && world_.place(i) == world_.place(row) && roll(operation, i) % 4 == 0) {
        plan.brings.push_back({i, 1, 1});
      }
    }
    return plan;
  }

  // To where a chunk, ring or span ends, without a read.
  StepPlan jump(const Operation& operation, size_t row) const {
    constexpr std::array<int64_t, 4> kBorders = {256, 512, 512, 512};
    const int64_t border = kBorders[operation.die % 4] - 4 + operation.amount % 9;
    const int64_t tokens = std::max<int64_t>(1, border - world_.length(row));
    return {.brings = {{row, tokens, tokens}}, .attends = 0};
  }

  World& world_;
  const Place& place_;
  std::string* log_;
};

compute::Context& context_for(const Place& place) {
  static std::map<std::pair<compute::CpuTarget, int>, std::unique_ptr<compute::Context>> contexts;
  auto& context = contexts[{place.target, place.threads}];
  if (!context) context = std::make_unique<compute::Context>(place.target, place.threads);
  return *context;
}

std::string describe(const WorldSpec& spec, const Place& place) {
  const auto number = [](const char* name, int64_t value) {
    return std::string(" ") + name + " " + std::to_string(value);
  };
  std::string text;
  for (const state::KvOptions& options : spec.options) {
    text += (text.empty() ? "home " : "abroad ") + std::string(to_string(options.layout)) +
            number("page", options.page) + number("slack", options.slack) +
            number("budget", static_cast<int64_t>(options.budget_bytes)) + "\n";
  }
  const state::KvPrecision& precision = spec.options[0].precision;
  text += to_string(spec.options[0].types) + number("start", precision.quant_start) +
          number("first", precision.keep_first) + number("last", precision.keep_last) +
          number("full", static_cast<int64_t>(precision.full.kind)) + "\n";
  for (const state::KvLayerSpec& layer : spec.layers) {
    text += "layer" + number("heads", layer.kv_heads) + number("k", layer.k_dim) + number("v", layer.v_dim) +
            number("window", layer.window) + number("sinks", layer.sinks) + "\n";
  }
  return text + "rows" + number("", place.rows) + number("threads", place.threads) +
         number("group", spec.group) + " softcap " + std::to_string(spec.softcap) + " on " +
         std::string(compute::to_string(place.target)) + "\n";
}

rc::Shrinkable<Script> draw_script(uint64_t number) {
  static const rc::Gen<Script> gen = scripts();
  return gen(rc::Random(number + 1), rc::kNominalSize);
}

}  // namespace

rc::Gen<Script> scripts() {
  const auto number = [](int below) { return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, below)); };
  const auto operation = rc::gen::map(rc::gen::tuple(number(100), number(17), number(1000), number(65536)),
                                      [](const std::tuple<int, int, int, int>& n) {
                                        return Operation{std::get<0>(n), std::get<1>(n), std::get<2>(n),
                                                         static_cast<uint32_t>(std::get<3>(n))};
                                      });
  return rc::gen::resize(18, rc::gen::container<Script>(operation));
}

std::string run(const WorldSpec& spec, const Place& place, const Script& script, std::string* log) {
  World world(spec, context_for(place), static_cast<uint32_t>(place.rows));
  if (world.problem().empty()) Interpreter(world, place, log).run(script);
  return world.problem();
}

bool fails(const Product& product, uint64_t number) {
  const Place place = product.place(number);
  return !run(product.draw(place, number), place, draw_script(number).value(), nullptr).empty();
}

std::string run_numbered(const Product& product, uint64_t number) {
  const Place place = product.place(number);
  const WorldSpec spec = product.draw(place, number);
  const rc::Shrinkable<Script> drawn = draw_script(number);
  if (run(spec, place, drawn.value(), nullptr).empty()) return {};
  const auto fails = [&](const Script& script) { return !run(spec, place, script, nullptr).empty(); };
  const Script smallest = rc::shrinkable::findLocalMin(drawn, fails).first;
  std::string log;
  const std::string problem = run(spec, place, smallest, &log);
  return "script " + std::to_string(number) + ": " + problem + "\n" + describe(spec, place) + log;
}

}  // namespace kvern::conformance
