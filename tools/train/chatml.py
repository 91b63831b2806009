"""The chat format of the bundled model: ChatML, with tools listed in the system message.

`render` and `CHAT_TEMPLATE` (Jinja, stored in tokenizer_config.json and in the GGUF file) give the same bytes;
tools/train/check_template.py proves it on generated chats.
"""
import json

END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TOOL_TAGS = ["<tools>", "</tools>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
SPECIAL_TOKENS = [END_OF_TEXT, IM_START, IM_END]
GENERATION_PROMPT = IM_START + "assistant\n"

TOOLS_INTRO = "# Tools\nYou may call these functions:\n<tools>\n"
TOOLS_END = '</tools>\nTo call one, answer with:\n<tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>'

CHAT_TEMPLATE = r"""{%- if tools %}
{{- '<|im_start|>system\n' }}
{%- if messages[0].role == 'system' and messages[0].content %}{{- messages[0].content + '\n\n' }}{%- endif %}
{{- '# Tools\nYou may call these functions:\n<tools>\n' }}
{%- for tool in tools %}{{- tool | tojson + '\n' }}{%- endfor %}
{{- '</tools>\nTo call one, answer with:\n<tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'system' and loop.first and tools %}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{%- set function = call.function or call %}
{%- if message.content or not loop.first %}{{- '\n' }}{%- endif %}
{{- '<tool_call>\n{"name": "' + function.name + '", "arguments": ' }}
{{- function.arguments if function.arguments is string else function.arguments | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""


def dumps(value):
    return json.dumps(value, ensure_ascii=False)


def assistant_body(message):
    parts = [message["content"]] if message["content"] else []
    for call in message.get("tool_calls", []):
        function = call["function"]
        parts.append('<tool_call>\n{"name": "' + function["name"] + '", "arguments": ' + dumps(function["arguments"]) + "}\n</tool_call>")
    return "\n".join(parts)


def render(messages, tools=None, add_generation_prompt=False):
    """The chat as the text that the model sees."""
    out = []
    rest = messages
    if tools:
        system = ""
        if messages and messages[0]["role"] == "system":
            system, rest = messages[0]["content"], messages[1:]
        lines = "".join(dumps(tool) + "\n" for tool in tools)
        out.append(f"{IM_START}system\n{system + chr(10) * 2 if system else ''}{TOOLS_INTRO}{lines}{TOOLS_END}{IM_END}\n")
    for index, message in enumerate(rest):
        role = message["role"]
        if role == "assistant":
            out.append(f"{IM_START}assistant\n{assistant_body(message)}{IM_END}\n")
        elif role == "tool":
            first = index == 0 or rest[index - 1]["role"] != "tool"
            last = index + 1 == len(rest) or rest[index + 1]["role"] != "tool"
            out.append((IM_START + "user" if first else "") + f"\n<tool_response>\n{message['content']}\n</tool_response>"
                       + (IM_END + "\n" if last else ""))
        else:
            out.append(f"{IM_START}{role}\n{message['content']}{IM_END}\n")
    if add_generation_prompt:
        out.append(GENERATION_PROMPT)
    return "".join(out)
