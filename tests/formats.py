"""Formats made by hand, one for each shape in which models write; the markers are those of real templates."""

from __future__ import annotations

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
JSON_VALUE = ValueNotation(
    (JSON_STRING,), "true", "false", "null", ListNotation("[", "", "", ", ", "]"), JSON_OBJECT, True
)
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
            ("function", "name"), ("function", "arguments"), ("id",), array=True, keys=("id", "type", "function", "name", "arguments")
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
        SequenceBody((("name", "[CALL_ID]"), ("id", "[ARGS]"), ("arguments", ""))), JSON, (Marker("[TOOL_CALLS]"), Marker())
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
            ObjectNotation(
                "", "<arg_key>", (Slot(Marker("</arg_key>\n<arg_value>"), Marker("</arg_value>")),), "\n", ""
            ),
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
            ValueNotation(
                (_ODD_STRING,), "true", "false", "null", ListNotation("[", "", "", ",", "]"), _ODD_OBJECT, False
            ),
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

FORMATS = {
    name: value for name, value in globals().items() if isinstance(value, ChatFormat)
}
