# Sources of the chat-template engine, relative to src/text.
set(KVERN_TEMPLATE_SOURCES
  template/arithmetic.cc
  template/attributes.cc
  template/builtin.cc
  template/chat_template.cc
  template/context.cc
  template/evaluate.cc
  template/expression_parser.cc
  template/filters_number.cc
  template/filters_selection.cc
  template/filters_sequence.cc
  template/filters_string.cc
  template/format_braces.cc
  template/format_number.cc
  template/format_percent.cc
  template/globals.cc
  template/interpreter.cc
  template/lexer.cc
  template/loop.cc
  template/methods_container.cc
  template/methods_search.cc
  template/methods_string.cc
  template/number_text.cc
  template/operators.cc
  template/parser.cc
  template/printing.cc
  template/runtime.cc
  template/sequence_ops.cc
  template/strftime.cc
  template/tests.cc
  template/text_ops.cc
  template/to_json.cc
  template/token_stream.cc
  template/unescape.cc
  template/unicode.cc
  template/value.cc
)
# g++-12 warns of variants that "may be used uninitialized" inside std::variant's own moves; where, depends on inlining.
set_source_files_properties(${KVERN_TEMPLATE_SOURCES} PROPERTIES
  COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
