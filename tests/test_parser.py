"""What parsers make of texts in all shapes: inputs beside the messages expected of them, however the text is split."""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import pytest
from formats import FORMATS, TOOLS, make_tool, write_call
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import Call, Reading, read, read_all_ways

from chat_autoparser.delta import Delta
from chat_autoparser.format import ChatFormat
from chat_autoparser.tape import ClosedParserError

SHAPES = sorted(FORMATS)


def check(
    reading: Reading, reasoning: str | None, content: str | None, calls: list[Call], incomplete: set[int] | None = None
) -> None:
    assert (reading.reasoning, reading.content, reading.calls) == (reasoning, content, calls)
    assert reading.incomplete == (incomplete or set())


# Each: shape, text, reasoning, content, calls.
TURNS: list[tuple[str, str, str | None, str | None, list[Call]]] = [
    ("JSON_TAGS", "Hello, world.", None, "Hello, world.", []),
    ("JSON_TAGS", "<think>\nhm\n</think>\n\nHello<|im_end|>\n", "hm", "Hello", []),
    ("JSON_TAGS", "<think>\n\n</think>\n\nHello", None, "Hello", []),
    (
        "JSON_TAGS",
        '<think>\nhm\n</think>\n\nHello\n<tool_call>\n{"name": "f", "arguments": {"a":  "x}\\""}}\n</tool_call>\n'
        '<tool_call>\n{"name": "g", "arguments": {"city": "P"}}\n</tool_call><|im_end|>\n',
        "hm",
        "Hello",
        [("f", '{"a":  "x}\\""}'), ("g", '{"city": "P"}')],
    ),
    (
        "JSON_ARRAY",
        '[THINK]t[/THINK]hi[TOOL_CALLS] [{"name": "f", "arguments": {"a": "x"}, "id": "abc123456"}, '
        '{"name": "g", "arguments": {}, "id": "B"}]</s>',
        "t",
        "hi",
        [("f", '{"a": "x"}'), ("g", "{}")],
    ),
    ("BARE", '{"name": "f", "parameters": {"a": "x"}}<|eot_id|>', None, None, [("f", '{"a": "x"}')]),
    ("NAME_KEY", 'Hi\n<calls>[{"f": {"a": 1}}, {"g": {}}]</calls>', None, "Hi", [("f", '{"a": 1}'), ("g", "{}")]),
    (
        "NESTED",
        'think\n</think>\nhello<|action_start|>\n[\n  {\n "id": "i1",\n "type": "function",\n "function": {\n "name": "f",'
        '\n "arguments": {\n  "a": 1\n }\n }\n },\n {"function":{"arguments":{"n":2},"name":"g"}}\n]\n<|action_end|>',
        "think",
        "hello",
        [("f", '{\n  "a": 1\n }'), ("g", '{"n":2}')],
    ),
    (
        "FENCED",
        '<think>\nx\n</think>\n\ny<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a":"x"}\n```'
        "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        "x",
        "y",
        [("f", '{"a":"x"}'), ("g", "{}")],
    ),
    (
        "NAME_ID",
        'hey[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": 1}[TOOL_CALLS]g[CALL_ID]9[ARGS]{}</s>',
        None,
        "hey",
        [("f", '{"a": 1}'), ("g", "{}")],
    ),
    (
        "ID_NAME",
        "<think>a</think>b<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
        '{"a": 1}<|tool_call_end|><|tool_call_begin|>functions.my.thing:1<|tool_call_argument_begin|>{}'
        "<|tool_call_end|><|tool_calls_section_end|><|im_end|>",
        "a",
        "b",
        [("f", '{"a": 1}'), ("thing", "{}")],
    ),
    (
        "TAGGED",
        "<think>\nr\n</think>\n\nhey\n\n<tool_call>\n<function=f>\n<parameter=a>\n12\n</parameter>\n<parameter=n>\n12\n"
        '</parameter>\n<parameter=o>\n{"k": [1]}\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n'
        "</function>\n</tool_call>",
        "r",
        "hey",
        [("f", '{"a": "12", "n": 12, "o": {"k": [1]}}'), ("g", "{}")],
    ),
    (
        "TAGGED",
        "<tool_call>\n<function=f>\n<parameter=a>\n\n two\nlines\n\n</parameter>\n</function>\n</tool_call>",
        None,
        None,
        [("f", '{"a": "\\n two\\nlines\\n"}')],
    ),
    (
        "KEY_VALUE",
        '<think>r</think>\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x "q"\ny</arg_value>\n<arg_key>n</arg_key>\n'
        "<arg_value>3</arg_value>\n</tool_call>\n<tool_call>g\n</tool_call><|user|>",
        "r",
        None,
        [("f", '{"a": "x \\"q\\"\\ny", "n": 3}'), ("g", "{}")],
    ),
    (
        "TYPED",
        'hi\n\n<function_calls>\n<invoke name="f">\n<p name="a" string="true">12</p>\n<p name="zz" string="false">12</p>\n'
        '<p name="a b" string="true"></p>\n</invoke>\n<invoke name="g">\n</invoke>\n</function_calls>',
        None,
        "hi",
        [("f", '{"a": "12", "zz": 12, "a b": ""}'), ("g", "{}")],
    ),
    (
        "CALLS",
        '[f(a="x", l=[1, {"k": None}], b=True), g(city=\'it\\\'s "P"\')]<|eot|>',
        None,
        None,
        [("f", '{"a":"x", "l":[1, {"k": null}], "b":true}'), ("g", '{"city":"it\'s \\"P\\""}')],
    ),
    (
        "MARKED_CALLS",
        '<think>\nr\n</think>\n\n<|tool_call_start|>[f(a="x", l=(1, 2)), g()]<|tool_call_end|>tail',
        "r",
        "tail",
        [("f", '{"a":"x", "l":[1, 2]}'), ("g", "{}")],
    ),
    (
        "ODD",
        '<|channel>thought\nr\n<channel|>hi<|tool_call>call:f{a:<|"|>x "y" <|"|>,n:-3,o:{k:[true,null]}}<tool_call|>'
        "<|tool_call>call:g{}<tool_call|>done",
        "r",
        "hidone",
        [("f", '{"a":"x \\"y\\" ","n":-3,"o":{"k":[true,null]}}'), ("g", "{}")],
    ),
    (
        "MARKUP",
        '<tool_call>\n<invoke name="f"><a>Paris</a><o><k>1</k><m><n>x</n></m></o><l><item>1</item><item><z>y</z></item></l>'
        "</invoke>\n</tool_call>[e~[",
        None,
        None,
        [("f", '{"a": "Paris", "o": {"k": 1, "m": {"n": "x"}}, "l": [1, {"z": "y"}]}')],
    ),
    (
        "CHANNELS",
        "<|channel|>analysis<|message|>hmm<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>"
        '{"a": 1}<|call|>',
        "hmm",
        None,
        [("f", '{"a": 1}')],
    ),
    (
        "CHANNELS",
        "<|channel|>analysis<|message|>hmm<|end|><|start|>assistant<|channel|>commentary<|message|>I'll look.<|end|>"
        '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
        "hmm",
        "I'll look.",
        [("f", '{"a": 1}')],
    ),
    (
        "CHANNELS",
        "<|channel|>analysis<|message|>hmm<|end|><|start|>assistant<|channel|>final<|message|>Use <|x|> here<|return|>",
        "hmm",
        "Use <|x|> here",
        [],
    ),
    ("RECIPIENTS", "all\nhello", None, "hello", []),
    ("RECIPIENTS", 'all\nhello>>>f\n{"a": 1}>>>g\n{}<|eot_id|>', None, "hello", [("f", '{"a": 1}'), ("g", "{}")]),
    ("RECIPIENTS", 'f\n{"a": 1}', None, None, [("f", '{"a": 1}')]),
    (
        "ENVELOPE",
        '\n<tool_call>\n{"name": "f", "arguments": {\'a\': True, "z": None, \'s\': \'"\'}}\n</tool_call>',
        None,
        None,
        [("f", '{"a": true, "z": null, "s": "\\""}')],
    ),
]


@pytest.mark.parametrize(("shape", "text", "reasoning", "content", "calls"), TURNS)
def test_turn(shape: str, text: str, reasoning: str | None, content: str | None, calls: list[Call]) -> None:
    check(read_all_ways(FORMATS[shape], text, TOOLS), reasoning, content, calls)


# Each: shape, what follows the header in the prompt, text, reasoning, content.
STARTS = [
    ("JSON_TAGS", "", "Hi", None, "Hi"),
    ("JSON_TAGS", "<think>\n", "hm\n</think>\n\nHi", "hm", "Hi"),
    ("JSON_TAGS", "<think>", "\nhm\n</think>\n\nHi", "hm", "Hi"),
    ("JSON_TAGS", "<think>\n\n</think>\n\n", "Hi", None, "Hi"),
    ("JSON_TAGS", "</think>", "\n\nHi", None, "Hi"),
    ("JSON_TAGS", "<think>\nI have thought.\n</think>\n\nThe answer", " is 4.", None, " is 4."),
    ("JSON_TAGS", "<think>\nI am", " thinking</think>Hi", " thinking", "Hi"),
    ("JSON_TAGS", "Say <think>", " is a marker", None, " is a marker"),
    ("JSON_TAGS", "<thi", "nk>\nhm\n</think>\n\nHi", "hm", "Hi"),
    ("JSON_TAGS", "<thi", "s>", None, "s>"),
    ("NESTED", "", "hm\n</think>\nHi", "hm", "Hi"),
    ("NESTED", "</think>\n", "Hi", None, "Hi"),
    ("CHANNELS", "<|channel|>final<|message|>", "Hi<|return|>", None, "Hi"),
    ("CHANNELS", "<|channel|>", "analysis<|message|>hm<|end|>", "hm", None),
]


@pytest.mark.parametrize(("shape", "prefix", "text", "reasoning", "content"), STARTS)
def test_start(shape: str, prefix: str, text: str, reasoning: str | None, content: str | None) -> None:
    """The state at the start is read from what the prompt has written after the last header, and nothing before it."""
    header = FORMATS[shape].turn.headers[0]
    for before in ("", "<think> </think> <tool_call>", header + "<think>"):
        prompt = before + "user: <think>\n" + header + prefix
        check(read_all_ways(FORMATS[shape], text, TOOLS, prompt), reasoning, content, [])


def test_start_without_header() -> None:
    """A prompt that was cut to its tail still tells what a known beginning of a turn tells."""
    form = FORMATS["JSON_TAGS"]
    check(read(form, ["Hi"], prompt="\n<think>\n\n</think>\n\n"), None, "Hi", [])
    check(read(form, ["<think>a</think>Hi"], prompt="stant\n"), "a", "Hi", [])
    check(read(form, ["<think>a</think>Hi"], prompt="anything"), "a", "Hi", [])
    check(read(form, ["<think>a</think>Hi"], prompt=""), "a", "Hi", [])


def test_prompt_none_is_what_the_template_appends() -> None:
    check(read(FORMATS["RECIPIENTS"], ['f\n{"a": 1}'], TOOLS), None, None, [("f", '{"a": 1}')])
    check(read(FORMATS["RECIPIENTS"], ['f\n{"a": 1}'], TOOLS, ""), None, 'f\n{"a": 1}', [])


@pytest.mark.parametrize("shape", SHAPES)
def test_no_tools_means_no_calls(shape: str) -> None:
    """With an empty list of tools all markup of calls is text, verbatim."""
    text = write_call(shape, "f", {"a": "x", "n": 1})
    form = FORMATS[shape]
    reading = read_all_ways(form, "Hi" + text, [], form.turn.headers[0] + ("</think>" if shape == "NESTED" else ""))
    assert reading.calls == []
    tail = (reading.content or "").removesuffix("<|call|>")
    assert tail == ("Hi" + text).removesuffix("<|call|>")


@pytest.mark.parametrize("shape", SHAPES)
def test_unknown_tools_are_recognised_by_markup(shape: str) -> None:
    prompt = FORMATS[shape].turn.headers[0] + ("</think>" if shape == "NESTED" else "")
    text = write_call(shape, "anything", {"a": "x"})
    calls = read_all_ways(FORMATS[shape], text, None, prompt).calls
    assert [(name, json.loads(arguments)) for name, arguments in calls] == [("anything", {"a": "x"})]


PROSE = "if a < b and [c] or {d} then <i>e</i> </ p> <| x - y, which `f` says: 3 * 4 | 5\nand more of it. "


def get_delays(form: ChatFormat, before: str, text: str) -> list[int]:
    """How many characters of a text a client does not have yet, behind each of them."""
    parser = form.parser(TOOLS, form.turn.headers[0] if form.turn.headers else "")
    parser.feed(before)
    have, delays = 0, []
    for place, char in enumerate(text, 1):
        have += sum(len(delta.text) for delta in parser.feed(char))
        delays.append(place - have)
    return delays


@pytest.mark.parametrize("shape", SHAPES)
def test_prose_is_held_back_only_while_it_may_be_structure(shape: str) -> None:
    """One sign with which markers begin must not cost a client the length of a marker."""
    form = FORMATS[shape]
    start = form.reasoning.start.text if form.reasoning else ""
    assert max(get_delays(form, "", PROSE)) <= 3
    assert max(get_delays(form, start, PROSE)) <= 3 + len(start)


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_are_held_back_only_while_they_may_be_structure(shape: str) -> None:
    """The same behind so many arguments that no id is waited for any more."""
    begun, prose = "begin " * 50, PROSE.replace("\n", " ")
    before, text, _ = write_call(shape, "f", {"a": begun + prose}).partition(prose)
    assert text
    delays = get_delays(FORMATS[shape], before, text)
    assert max(delays) - min(delays) <= 3


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_stream(shape: str) -> None:
    """A client sees the name at once and a long argument while it is written."""
    form = FORMATS[shape]
    text = write_call(shape, "f", {"a": "x" * 2000})
    parser = form.parser(TOOLS, form.turn.headers[0] + ("</think>" if shape == "NESTED" else ""))
    middle = text.index("x" * 2000) + 1000
    deltas = [delta for char in text[:middle] for delta in parser.feed(char)]
    assert (deltas[0].name, deltas[0].index, deltas[0].text) == ("f", 0, "")
    assert sum(len(delta.text) for delta in deltas[1:]) >= 1000 - 16
    assert parser.calls_seen == 1


def test_ids() -> None:
    """An id that the model wrote is kept, whether it stands before or after the arguments, or is generated."""
    call = '[{{"name": "f", "arguments": {{"a": "{}"}}, "id": "abc"}}]'
    assert read_all_ways(FORMATS["JSON_ARRAY"], "[TOOL_CALLS]" + call.format("x")).ids == ["abc"]
    assert read_all_ways(FORMATS["JSON_ARRAY"], '[TOOL_CALLS][{"id": 7, "name": "f", "arguments": {}}]').ids == ["7"]
    assert read_all_ways(FORMATS["NAME_ID"], "[TOOL_CALLS]f[CALL_ID]99[ARGS]{}").ids == ["99"]
    text = "<|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>{}<|tool_call_end|>"
    assert read_all_ways(FORMATS["ID_NAME"], text).ids == ["functions.f:3"]
    made = read(FORMATS["BARE"], ['{"name": "f", "parameters": {}}']).ids[0]
    assert made.startswith("call_")
    assert len(made) == 29
    # The end of a long argument is not waited for, whatever comes after it.
    long = read_all_ways(FORMATS["JSON_ARRAY"], "[TOOL_CALLS]" + call.format("x" * 300)).ids[0]
    assert long.startswith("call_")


def test_id_carries_the_name_of_a_tool() -> None:
    """A tool whose name has dots or digits is found in an id as a whole."""
    tools = [make_tool("files.read:2"), make_tool("read")]
    text = "<|tool_call_begin|>functions.files.read:2:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    assert read_all_ways(FORMATS["ID_NAME"], text, tools).calls == [("files.read:2", "{}")]
    assert read_all_ways(FORMATS["ID_NAME"], text, None).calls == [("read:2", "{}")]


def test_encoded_arguments() -> None:
    """Arguments that are JSON inside a string come out as JSON."""
    text = '<tool_call>{"name": "f", "arguments": "{\\"a\\": \\"\\ud83d\\ude00 \\\\n\\"}"}</tool_call>'
    check(read_all_ways(FORMATS["JSON_TAGS"], text), None, None, [("f", '{"a": "😀 \\n"}')])


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"arguments": {"a": 1}, "name": "f"}', [("f", '{"a": 1}')]),
        ('{ "id" : "x" , "name" : "f" , "extra": [1, {"y": "}"}], "arguments" : {"a": 1} }', [("f", '{"a": 1}')]),
        ('{"name": "f"}', [("f", "{}")]),
        ('{"name": "f", "arguments": null}', [("f", "{}")]),
        ('{"name": "f", "arguments": ""}', [("f", "{}")]),
        ('{"name":"f","arguments":{}}', [("f", "{}")]),
        (
            '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"city": "]"}}]',
            [("f", "{}"), ("g", '{"city": "]"}')],
        ),
        ('[{"name": "f", "arguments": {}}]', [("f", "{}")]),
    ],
)
def test_json_object(text: str, calls: list[Call]) -> None:
    """Keys come in any order, with any spacing, beside unknown ones; an array or a single object."""
    check(read_all_ways(FORMATS["JSON_TAGS"], f"<tool_call>\n{text}\n</tool_call>", TOOLS), None, None, calls)
    check(read_all_ways(FORMATS["JSON_ARRAY"], f"[TOOL_CALLS]{text}", TOOLS), None, None, calls)


def test_to_openai() -> None:
    assert Delta("content", "x").to_openai() == {"content": "x"}
    assert Delta("reasoning", "x").to_openai() == {"reasoning_content": "x"}
    assert Delta("tool_call", "", 1, "i", "f").to_openai() == {
        "tool_calls": [{"index": 1, "id": "i", "type": "function", "function": {"name": "f", "arguments": ""}}]
    }
    assert Delta("tool_call", "{", 1).to_openai() == {"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]}


def test_parse_returns_an_openai_message() -> None:
    form = FORMATS["JSON_TAGS"]
    assert form.parse("Hi") == {"role": "assistant", "content": "Hi", "reasoning_content": None}
    message = form.parse('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')
    call_id = message["tool_calls"][0]["id"]
    assert message == {
        "role": "assistant",
        "content": None,
        "reasoning_content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


def test_closed_parser_refuses_text() -> None:
    parser = FORMATS["BARE"].parser()
    assert parser.finish() == []
    assert parser.finish() == []
    with pytest.raises(ClosedParserError, match="make a new one"):
        parser.feed("x")


def test_what_a_plugin_asks() -> None:
    parser = FORMATS["JSON_TAGS"].parser(TOOLS, "<|im_start|>assistant\n<think>\n")
    assert parser.in_reasoning
    assert not parser.reasoning_ended
    parser.feed("hm\n</think>\n\n")
    assert not parser.in_reasoning
    assert parser.reasoning_ended
    parser.feed('<tool_call>\n{"name": "f", "arguments": {"a": ')
    assert parser.calls_seen == 1
    assert not parser.incomplete
    parser.finish()
    assert parser.incomplete
    assert parser.incomplete_calls == {0}


def test_format_stays_plain_data_after_use() -> None:
    form = FORMATS["TAGGED"]
    before = pickle.dumps(form)
    form.parse(write_call("TAGGED", "f", {"a": "x"}))
    assert pickle.dumps(form) == before
    copy = pickle.loads(before)
    assert copy == form
    assert copy.parse("x")["content"] == "x"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text("ab\"'\\\n é{}[],:=", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("kmz"), inner, max_size=3),
    max_leaves=8,
)
QUOTED = [shape for shape in SHAPES if shape not in ("TAGGED", "KEY_VALUE", "TYPED", "ODD", "MARKUP")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(QUOTED), st.dictionaries(st.sampled_from("anobl"), VALUES, max_size=4), st.data())
def test_any_arguments_are_read_back(shape: str, arguments: dict[str, Any], data: st.DataObject) -> None:
    """What another writer wrote (the json module, or Python's own repr) is read back, however it is split."""
    form, text = FORMATS[shape], write_call(shape, "f", arguments)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    prompt = form.turn.headers[0] + ("</think>" if shape == "NESTED" else "")
    reading = read(form, pieces, None, prompt)
    assert [(name, json.loads(written)) for name, written in reading.calls] == [("f", arguments)]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["TAGGED", "KEY_VALUE", "TYPED"]),
    st.text("ab\"'\\\n é{}[],:=<>/12", max_size=30).filter(lambda text: "</" not in text),
    VALUES.filter(lambda value: not isinstance(value, str)),
)
def test_tagged_arguments_are_read_back(shape: str, text: str, value: Any) -> None:
    """A declared string comes back as it was, whatever it looks like, and any other value as JSON."""
    tools = [make_tool("f", a={"type": "string"})]
    written = write_call(shape, "f", {"a": text, "v": value})
    reading = read(FORMATS[shape], [written], tools)
    assert [(name, json.loads(arguments)) for name, arguments in reading.calls] == [("f", {"a": text, "v": value})]


_MARKUP = """<think> </think> <tool_call> </tool_call> { } "name":"f" [TOOL_CALLS] [f( >>> <|im_end|> <|channel|>
<|message|> <function=f> <parameter=a> </parameter> call:f{ <|"|> é text {"name":"f","arguments":{
<｜tool▁call▁begin｜> <|tool_call_begin|>functions.f:0"""
PIECES = st.sampled_from([*_MARKUP.split(), "\n", " ", "\ud800", "\0"])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SHAPES), st.lists(PIECES, max_size=14), st.sampled_from([None, TOOLS, []]))
def test_splits_never_matter(shape: str, pieces: list[str], tools: list[dict[str, Any]] | None) -> None:
    form, text = FORMATS[shape], "".join(pieces)
    whole = read(form, [text], tools)
    assert read(form, pieces, tools)[:4] == whole[:4]
    assert read(form, list(text), tools)[:4] == whole[:4]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([s for s in SHAPES if s not in ("NESTED", "CHANNELS", "RECIPIENTS")]), st.text(min_size=1, max_size=200)
)
def test_text_is_content(shape: str, text: str) -> None:
    """Text without structure comes out as it went in."""
    form = FORMATS[shape]
    assert read(form, [text], [], "").content == text
    assert read(form, list(text), None, "").content == text


def _count_work(form: ChatFormat, text: str) -> int:
    """Count what a parser calls, Python or C, while it reads a text in pieces of four characters."""
    parser, count = form.parser(TOOLS, form.turn.headers[0]), 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    pieces = [text[start : start + 4] for start in range(0, len(text), 4)]
    sys.setprofile(note)
    try:
        for piece in pieces:
            parser.feed(piece)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_work_is_linear(shape: str) -> None:
    """Four times the text is four times the work: prose, prose that is full of openers, and long arguments."""
    form = FORMATS[shape]
    opener = write_call(shape, "f", {"a": "x"})[:24]
    for make in (
        lambda n: "Some words, " * n,
        lambda n: opener * n,
        lambda n: "\n" * n,
        lambda n: write_call(shape, "f", {"a": "some words " * n}),
        lambda n: write_call(shape, "f", {f"k{i:04}": i % 10 for i in range(n)}),
    ):
        short, long = make(500), make(1500)
        for text in (short, long):
            _count_work(form, text)  # so that remembered steps do not count
        assert _count_work(form, long) <= 3.3 * _count_work(form, short) + 2000


@pytest.mark.parametrize("shape", SHAPES)
def test_memory_is_bounded(shape: str) -> None:
    """However long a value or a flood of half markers is, little of it is held."""
    form = FORMATS[shape]
    for text in (write_call(shape, "f", {"a": "word " * 40000}), write_call(shape, "f", {"a": "x"})[:-1] * 400):
        parser = form.parser(TOOLS)
        held = 0
        for start in range(0, len(text), 50):
            parser.feed(text[start : start + 50])
            held = max(held, len(parser._text))
        assert held < 20000


@pytest.mark.parametrize("shape", ["TAGGED", "KEY_VALUE", "TYPED", "MARKUP"])
def test_long_values_that_are_no_strings(shape: str) -> None:
    """A long list is streamed as JSON, whatever layout stands in it; text that only begins like one stays text."""
    numbers = list(range(300))
    written = write_call(shape, "f", {"l": "PLACE", "n": 1})
    for dumped in (json.dumps(numbers, indent=1), json.dumps([numbers, {"k": "]</x>"}], indent=2)):
        text = written.replace('string="true">PLACE', 'string="false">PLACE').replace("PLACE", dumped)
        calls = read_all_ways(FORMATS[shape], text, TOOLS).calls
        assert [(name, json.loads(arguments)) for name, arguments in calls] == [("f", {"l": json.loads(dumped), "n": 1})]
    prose = "[this] is prose, " * 60
    text = written.replace('string="true">PLACE', 'string="false">PLACE').replace("PLACE", prose)
    calls = read_all_ways(FORMATS[shape], text, TOOLS).calls
    assert [(name, json.loads(arguments)) for name, arguments in calls] == [("f", {"l": prose, "n": 1})]
