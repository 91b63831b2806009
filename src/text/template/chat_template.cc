// The public face of the template engine.
#include "text/template/chat_template.h"

#include <utility>

#include "text/template/ast.h"
#include "text/template/interpreter.h"

namespace kvern {

ChatTemplate::ChatTemplate(jinja::TemplateTree tree)
    : tree_(std::make_unique<const jinja::TemplateTree>(std::move(tree))) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::parse(std::string source, std::string name,
                                                          const jinja::ParseLimits& limits) {
  KVERN_TRY(auto tree, jinja::parse_template(source, name, limits));
  return std::unique_ptr<ChatTemplate>(new ChatTemplate(std::move(tree)));
}

Result<std::string> ChatTemplate::render(const json::value& context, const RenderOptions& options) const {
  if (!context.is_object()) {
    return fail(ErrorCode::kInvalidArgument, "the context of a template must be a JSON object", tree_->name);
  }
  return jinja::Interpreter(*tree_, options.limits, options.clock).render(context.get_object());
}

const std::string& ChatTemplate::name() const { return tree_->name; }

}  // namespace kvern
