// Chat templates: the Jinja text that turns a conversation into a model's prompt.
//
// The language is Jinja's (jinja.palletsprojects.com, "Template Designer Documentation") as Hugging Face's
// transformers runs it: trim_blocks and lstrip_blocks on, no autoescape, loop controls, `generation` blocks,
// `raise_exception`, `strftime_now`, and a `tojson` that is Python's json.dumps. Values print as in Python.
// docs/chat-templates.md lists what differs.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "text/template/parser.h"
#include "text/template/runtime.h"

namespace kvern {

namespace jinja {
struct TemplateTree;
}

struct RenderOptions {
  jinja::RenderLimits limits;
  /// What strftime_now tells, in UTC; borrowed for the call. Null: the template finds strftime_now undefined.
  const Clock* clock = nullptr;
};

/// A parsed template. Immutable: any number of threads may render it at the same time.
class ChatTemplate {
 public:
  /// `name` appears in errors. Codes: kCorrupt for wrong syntax, kUnsupported for tags beyond a single
  /// template, kExhausted for a template that is too long or nests too deeply. `where` is name:line:column.
  static Result<std::unique_ptr<ChatTemplate>> parse(std::string source, std::string name,
                                                     const jinja::ParseLimits& limits = {});
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  /// Renders with the members of `context` (a JSON object) as variables; the order of members is kept.
  ///
  /// Codes: kInvalidArgument when the template itself refused the conversation with raise_exception (the
  /// message is the template's) or when `context` is no object; kCorrupt when an operation failed (undefined
  /// value, wrong type); kUnsupported for unknown filters and tests; kExhausted when a limit was reached.
  /// `where` is name:line:column.
  Result<std::string> render(const json::value& context, const RenderOptions& options = {}) const;

  const std::string& name() const;

 private:
  explicit ChatTemplate(jinja::TemplateTree tree);
  std::unique_ptr<const jinja::TemplateTree> tree_;
};

}  // namespace kvern
