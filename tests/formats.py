"""Formats made by hand, one for each shape in which models write; the markers are those of real templates."""

from __future__ import annotations

import json
from typing import Any

from chat_autoparser.format import (
    KEY,
    Arguments,
    ChatFormat,
    Content,
    ListNotation,
    Marker,
    ObjectBody,
    ObjectNotation,
    Reasoning,
    SequenceBody,
    Slot,
    Start,
    StringNotation,
    Tools,
    Turn,
    ValueNotation,
)

JSON_STRING = StringNotation('"', '"', (('"', '\\"'), ("\\", "\\\\"), ("\n", "\\n")))
JSON_OBJECT = ObjectNotation("{", '"', (Slot(Marker('":', after=" "), Marker()),), ", ", "}")
JSON_VALUE = ValueNotation((JSON_STRING,), "true", "false", "null", ListNotation("[", "", "", ", ", "]"), JSON_OBJECT, True)
JSON = Arguments(True, JSON_OBJECT, (JSON_STRING,), JSON_VALUE)

PYTHON_STRINGS = (
    StringNotation("'", "'", (("'", "\\'"), ("\\", "\\\\"), ("\n", "\\n"))),
    StringNotation('"', '"', (("\\", "\\\\"), ("\n", "\\n"))),
)
PYTHON_OBJECT = ObjectNotation("{", "'", (Slot(Marker("':", after=" "), Marker()),), ", ", "}")
PYTHON_VALUE = ValueNotation(
    PYTHON_STRINGS, "True", "False", "None", ListNotation("[", "", "", ", ", "]"), PYTHON_OBJECT, False
)
RAW = StringNotation()


def make_tools(
    body: ObjectBody | SequenceBody,
    arguments: Arguments,
    call: tuple[Marker, Marker] = (Marker(), Marker()),
    section: tuple[Marker, Marker] = (Marker(), Marker()),
    separator: str = "",
) -> Tools:
    return Tools(section[0], section[1], call[0], call[1], separator, body, arguments)


THINK = Reasoning(Marker("<think>", after="\n"), Marker("</think>", before="\n", after="\n\n"), "reasoning_content")
CHATML = Turn(
    headers=("<|im_start|>assistant\n",),
    continuation=Marker("<|im_start|>assistant", after="\n"),
    end=(Marker("<|im_end|>", after="\n"),),
    stops=("<|im_end|>",),
)
NAMED = ObjectBody(("name",), ("arguments",), keys=("name", "arguments"))
TOOL_CALL = (Marker("<tool_call>", before="\n", after="\n"), Marker("</tool_call>", before="\n"))

# {"name": ..., "arguments": ...} in tags, one pair for each call.
JSON_TAGS = ChatFormat(
    turn=CHATML,
    starts=(Start((), "", "open"), Start((("enable_thinking", "false"),), "<think>\n\n</think>\n\n", "content")),
    reasoning=THINK,
    tools=make_tools(NAMED, JSON, TOOL_CALL, separator="\n"),
)

# A JSON array after a marker; the id comes last.
JSON_ARRAY = ChatFormat(
    turn=Turn(headers=("[/INST]",), end=(Marker("</s>"),)),
    reasoning=Reasoning(Marker("[THINK]"), Marker("[/THINK]"), "reasoning_content"),
    tools=make_tools(
        ObjectBody(("name",), ("arguments",), ("id",), array=True, keys=("name", "arguments", "id")),
        JSON,
        section=(Marker("[TOOL_CALLS]", after=" "), Marker()),
        separator=", ",
    ),
)

# Nothing but the object.
BARE = ChatFormat(
    turn=Turn(headers=("<|header|>assistant<|/header|>\n\n",), end=(Marker("<|eot_id|>"),)),
    tools=make_tools(ObjectBody(("name",), ("parameters",), keys=("name", "parameters")), JSON),
)

# [{"f": {...}}]
NAME_KEY = ChatFormat(
    turn=CHATML,
    tools=make_tools(
        ObjectBody((), (), name_is_key=True, array=True),
        JSON,
        section=(Marker("<calls>", before="\n"), Marker("</calls>")),
    ),
)

# An array of nested objects, pretty-printed.
NESTED = ChatFormat(
    turn=CHATML,
    reasoning=Reasoning(Marker(""), Marker("</think>", before="\n", after="\n"), "reasoning_content"),
    tools=make_tools(
        ObjectBody(
            ("function", "name"),
            ("function", "arguments"),
            ("id",),
            array=True,
            keys=("id", "type", "function", "name", "arguments"),
        ),
        JSON,
        section=(Marker("<|action_start|>", after="\n"), Marker("<|action_end|>", before="\n")),
        separator=",\n",
    ),
)

# Section and call markers, a type, a name, and fenced JSON.
FENCED = ChatFormat(
    turn=Turn(headers=("<｜Assistant｜>",), end=(Marker("<｜end▁of▁sentence｜>"),)),
    reasoning=THINK,
    tools=make_tools(
        SequenceBody((("name", "\n```json\n"), ("arguments", ""))),
        JSON,
        (Marker("<｜tool▁call▁begin｜>function<｜tool▁sep｜>"), Marker("```<｜tool▁call▁end｜>", before="\n")),
        (Marker("<｜tool▁calls▁begin｜>"), Marker("<｜tool▁calls▁end｜>")),
        "\n",
    ),
)

# [TOOL_CALLS]f[CALL_ID]123[ARGS]{...}
NAME_ID = ChatFormat(
    turn=Turn(headers=("[/INST]",), end=(Marker("</s>"),)),
    tools=make_tools(
        SequenceBody((("name", "[CALL_ID]"), ("id", "[ARGS]"), ("arguments", ""))),
        JSON,
        (Marker("[TOOL_CALLS]"), Marker()),
    ),
)

# The id carries the name.
ID_NAME = ChatFormat(
    turn=Turn(headers=("<|im_assistant|>assistant<|im_middle|>",), end=(Marker("<|im_end|>"),)),
    reasoning=Reasoning(Marker("<think>"), Marker("</think>"), "reasoning_content"),
    tools=make_tools(
        SequenceBody((("id with name", "<|tool_call_argument_begin|>"), ("arguments", ""))),
        JSON,
        (Marker("<|tool_call_begin|>"), Marker("<|tool_call_end|>")),
        (Marker("<|tool_calls_section_begin|>"), Marker("<|tool_calls_section_end|>")),
    ),
)

# <function=f><parameter=k>raw</parameter></function> in tags.
TAGGED = ChatFormat(
    turn=CHATML,
    reasoning=THINK,
    tools=make_tools(
        SequenceBody((("name", ">\n"), ("arguments", ""))),
        Arguments(
            False,
            ObjectNotation(
                "", "<parameter=", (Slot(Marker(">", after="\n"), Marker("</parameter>", before="\n")),), "\n", ""
            ),
            (RAW,),
            JSON_VALUE,
        ),
        (
            Marker("<tool_call>\n<function=", before="\n\n"),
            Marker("</function>\n</tool_call>", before="\n"),
        ),
        separator="\n",
    ),
)

# Tags for keys and tags for values.
KEY_VALUE = ChatFormat(
    turn=Turn(headers=("<|assistant|>",), end=(Marker("<|user|>"),)),
    reasoning=Reasoning(Marker("<think>"), Marker("</think>"), "reasoning_content"),
    tools=make_tools(
        SequenceBody((("name", "\n"), ("arguments", ""))),
        Arguments(
            False,
            ObjectNotation("", "<arg_key>", (Slot(Marker("</arg_key>\n<arg_value>"), Marker("</arg_value>")),), "\n", ""),
            (RAW,),
            JSON_VALUE,
        ),
        (Marker("<tool_call>", before="\n"), Marker("</tool_call>", before="\n")),
    ),
)

# The tag says whether the value is a string.
TYPED = ChatFormat(
    turn=Turn(headers=("<｜Assistant｜>",), end=(Marker("<｜end▁of▁sentence｜>"),)),
    reasoning=Reasoning(Marker("<think>"), Marker("</think>"), "reasoning_content"),
    tools=make_tools(
        SequenceBody((("name", '">\n'), ("arguments", ""))),
        Arguments(
            False,
            ObjectNotation(
                "",
                '<p name="',
                (
                    Slot(Marker('" string="true">'), Marker("</p>"), "string"),
                    Slot(Marker('" string="false">'), Marker("</p>"), "other"),
                ),
                "\n",
                "",
            ),
            (RAW,),
            JSON_VALUE,
        ),
        (Marker('<invoke name="'), Marker("</invoke>", before="\n")),
        (Marker("<function_calls>", before="\n\n", after="\n"), Marker("</function_calls>", before="\n")),
        "\n",
    ),
)

_KEYWORDS = Arguments(
    False, ObjectNotation("(", "", (Slot(Marker("="), Marker()),), ", ", ")"), PYTHON_STRINGS, PYTHON_VALUE
)

# [f(a="x", b=[1]), g()]
CALLS = ChatFormat(
    turn=Turn(headers=("<|header|>assistant<|/header|>\n\n",), end=(Marker("<|eot|>"),)),
    tools=make_tools(
        SequenceBody((("name", ""), ("arguments", ""))), _KEYWORDS, section=(Marker("["), Marker("]")), separator=", "
    ),
)

# The same between markers; the bracket stands in the text after the name.
MARKED_CALLS = ChatFormat(
    turn=CHATML,
    reasoning=THINK,
    tools=make_tools(
        SequenceBody((("name", "("), ("arguments", ""))),
        Arguments(False, ObjectNotation("", "", (Slot(Marker("="), Marker()),), ", ", ""), PYTHON_STRINGS, PYTHON_VALUE),
        (Marker(), Marker(")")),
        (Marker("<|tool_call_start|>["), Marker("]<|tool_call_end|>")),
        ", ",
    ),
)

# call:f{key:<|"|>x<|"|>,n:3}
_ODD_STRING = StringNotation('<|"|>', '<|"|>')
_ODD_OBJECT = ObjectNotation("{", "", (Slot(Marker(":"), Marker()),), ",", "}")
ODD = ChatFormat(
    turn=Turn(headers=("<start_of_turn>model\n",), end=(Marker("<end_of_turn>", after="\n"),)),
    reasoning=Reasoning(Marker("<|channel>thought", after="\n"), Marker("<channel|>", before="\n"), "reasoning_content"),
    tools=make_tools(
        SequenceBody((("name", ""), ("arguments", ""))),
        Arguments(
            False,
            _ODD_OBJECT,
            (_ODD_STRING,),
            ValueNotation((_ODD_STRING,), "true", "false", "null", ListNotation("[", "", "", ",", "]"), _ODD_OBJECT, False),
        ),
        (Marker("<|tool_call>call:"), Marker("<tool_call|>")),
    ),
)

# Nested markup.
_TAG_OBJECT = ObjectNotation("", "<", (Slot(Marker(">"), Marker(f"</{KEY}>")),), "", "")
MARKUP = ChatFormat(
    turn=Turn(headers=("]~b]ai\n",), end=(Marker("[e~["),)),
    reasoning=THINK,
    tools=make_tools(
        SequenceBody((("name", '">'), ("arguments", ""))),
        Arguments(
            False,
            _TAG_OBJECT,
            (RAW,),
            ValueNotation(
                (RAW,), "true", "false", "null", ListNotation("", "<item>", "</item>", "", ""), _TAG_OBJECT, False
            ),
        ),
        (Marker('<invoke name="'), Marker("</invoke>")),
        (Marker("<tool_call>", before="\n", after="\n"), Marker("</tool_call>", before="\n")),
        "\n",
    ),
)

# Messages with channels and recipients.
CHANNELS = ChatFormat(
    turn=Turn(
        headers=("<|start|>assistant",),
        continuation=Marker("<|start|>assistant"),
        header_end="<|message|>",
        end=(Marker("<|return|>"), Marker("<|call|>")),
    ),
    reasoning=Reasoning(Marker("<|channel|>analysis<|message|>"), Marker("<|end|>"), "thinking"),
    content=Content(Marker("<|channel|>final<|message|>"), Marker("<|return|>"), "always"),
    tools=make_tools(
        SequenceBody((("name", "<|channel|>commentary json<|message|>"), ("arguments", ""))),
        JSON,
        (Marker("to=functions.", before=" "), Marker("<|call|>")),
    ),
)

# >>>all\ncontent>>>f\n{...}
RECIPIENTS = ChatFormat(
    turn=Turn(
        headers=("<|header|>assistant<|/header|>\n\n",),
        prefix=">>>",
        end=(Marker("<|eot_id|>"),),
    ),
    starts=(Start((), ">>>", "open"),),
    content=Content(Marker(">>>all", after="\n"), Marker(), "always"),
    tools=make_tools(SequenceBody((("name", "\n"), ("arguments", ""))), JSON, (Marker(">>>"), Marker())),
)

# A JSON envelope around arguments printed as a Python dict.
ENVELOPE = ChatFormat(
    turn=CHATML,
    tools=make_tools(NAMED, Arguments(False, PYTHON_OBJECT, PYTHON_STRINGS, PYTHON_VALUE), TOOL_CALL),
)

FORMATS = {name: value for name, value in globals().items() if isinstance(value, ChatFormat)}


def make_tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [
    make_tool(
        "f",
        a={"type": "string"},
        n={"type": "integer"},
        o={"type": "object"},
        l={"type": "array"},
        b={"type": "boolean"},
    ),
    make_tool("g", city={"type": "string"}),
]


def write_odd(value: Any) -> str:
    """Write a value with odd quotes and bare keys."""
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{write_odd(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write_odd, value)) + "]"
    return json.dumps(value)


def write_raw(value: Any) -> str:
    """Write a string as it is and everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def write_markup(value: Any) -> str:
    """Write a value as nested markup."""
    if isinstance(value, dict):
        return "".join(f"<{key}>{write_markup(inner)}</{key}>" for key, inner in value.items())
    if isinstance(value, list):
        return "".join(f"<item>{write_markup(inner)}</item>" for inner in value)
    return write_raw(value)


def write_keywords(arguments: dict[str, Any]) -> str:
    """Write keyword arguments in call syntax."""
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def write_call(shape: str, name: str, arguments: dict[str, Any]) -> str:
    """Write one call as a model of this shape would, with all the markup around it."""
    dumped = json.dumps(arguments, ensure_ascii=False)
    items = [(key, write_raw(value)) for key, value in arguments.items()]
    kinds = {key: str(isinstance(value, str)).lower() for key, value in arguments.items()}
    if shape == "JSON_TAGS":
        return f'\n<tool_call>\n{{"name": "{name}", "arguments": {dumped}}}\n</tool_call>'
    if shape == "JSON_ARRAY":
        return f'[TOOL_CALLS] [{{"name": "{name}", "arguments": {dumped}, "id": "123456789"}}]'
    if shape == "BARE":
        return f'{{"name": "{name}", "parameters": {dumped}}}'
    if shape == "NAME_KEY":
        return f'\n<calls>[{{"{name}": {dumped}}}]</calls>'
    if shape == "NESTED":
        pretty = json.dumps(
            [{"id": "i1", "type": "function", "function": {"name": name, "arguments": arguments}}],
            indent=2,
            ensure_ascii=False,
        )
        return f"<|action_start|>\n{pretty}\n<|action_end|>"
    if shape == "FENCED":
        return (
            f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dumped}\n```"
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        )
    if shape == "NAME_ID":
        return f"[TOOL_CALLS]{name}[CALL_ID]123456789[ARGS]{dumped}"
    if shape == "ID_NAME":
        return (
            f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{dumped}"
            "<|tool_call_end|><|tool_calls_section_end|>"
        )
    if shape == "TAGGED":
        entries = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in items)
        return f"\n\n<tool_call>\n<function={name}>\n{entries}</function>\n</tool_call>"
    if shape == "KEY_VALUE":
        entries = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in items)
        return f"\n<tool_call>{name}\n{entries}</tool_call>"
    if shape == "TYPED":
        entries = "".join(f'<p name="{key}" string="{kinds[key]}">{value}</p>\n' for key, value in items)
        return f'\n\n<function_calls>\n<invoke name="{name}">\n{entries}</invoke>\n</function_calls>'
    if shape == "CALLS":
        return f"[{name}({write_keywords(arguments)})]"
    if shape == "MARKED_CALLS":
        return f"<|tool_call_start|>[{name}({write_keywords(arguments)})]<|tool_call_end|>"
    if shape == "ODD":
        return f"<|tool_call>call:{name}{write_odd(arguments)}<tool_call|>"
    if shape == "MARKUP":
        return f'\n<tool_call>\n<invoke name="{name}">{write_markup(arguments)}</invoke>\n</tool_call>'
    if shape == "CHANNELS":
        return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{dumped}<|call|>"
    if shape == "RECIPIENTS":
        return f">>>{name}\n{dumped}"
    assert shape == "ENVELOPE", shape
    return f'\n<tool_call>\n{{"name": "{name}", "arguments": {arguments!r}}}\n</tool_call>'
