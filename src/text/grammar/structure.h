// How a text with tool calls looks, for a grammar: what is free, and what has a form.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"

namespace kvern::text {

/// A schema that a GBNF text can call by its name.
struct NamedSchema {
  /// Letters, digits, - and _.
  std::string name;
  json::value schema;
};

/// `begin`, a JSON value that is valid under `schema`, `end`: for example
/// "<tool_call>\n{\"name\": \"f\", \"arguments\": ", the schema of f's parameters, "}\n</tool_call>".
struct StructuredPart {
  std::string begin;
  json::value schema;
  std::string end;
};

/// A text of structured parts. What is no part is free text, if that is allowed at all. A literal may name a
/// control token of the model ("[TOOL_CALLS]"): then that token spells it too.
struct Structure {
  /// What each part may look like; any of them, each time.
  std::vector<StructuredPart> parts;
  /// How many parts there must be and may be.
  uint32_t min_parts = 1;
  uint32_t max_parts = std::numeric_limits<uint32_t>::max();
  /// Between parts; must be empty where free text is allowed between them.
  std::string separator;
  /// Free text may come before the first part, between parts and behind the last one. Free text does not
  /// contain any of `triggers`: once one is written, a part must follow that begins so.
  bool free_before = false;
  bool free_between = false;
  bool free_after = false;
  /// Beginnings of the parts' `begin`, at least one for each part ("<tool_call>"). Needed where there is free
  /// text; if empty, every `begin` is a trigger.
  std::vector<std::string> triggers;
};

}  // namespace kvern::text
