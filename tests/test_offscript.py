"""What models really write: each line of the design's list, over all shapes, however the text is split."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from formats import FORMATS, TOOLS, write_call
from streams import Call, read, read_all_ways

from chat_autoparser.format import ChatFormat, Marker, Slot

SHAPES = sorted(FORMATS)
# Where calls have no opener at all, or share it with prose, only the name of a tool makes a call.
BARE = ("BARE", "CALLS")
# Each message begins with a header, so text is only content after one.
HEADED = ("CHANNELS", "RECIPIENTS")
FREE = [shape for shape in SHAPES if shape not in HEADED]
THINKING = [shape for shape in SHAPES if (r := FORMATS[shape].reasoning) and r.start and shape != "CHANNELS"]


def open_turn(shape: str) -> str:
    """Return a prompt after which the model writes content or calls."""
    return FORMATS[shape].turn.headers[0] + ("</think>" if shape == "NESTED" else "")


def load(calls: list[Call]) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in calls]


def list_markers(form: ChatFormat) -> list[str]:
    """Return the texts that open and close something in a format."""
    tools = form.tools
    assert tools
    found = [tools.section_start, tools.section_end, tools.call_start, tools.call_end]
    if form.reasoning:
        found += [form.reasoning.start, form.reasoning.end]
    return [marker.text for marker in found if marker.text.strip("[]() ")]


@pytest.mark.parametrize("shape", FREE)
def test_prose_that_mentions_markers(shape: str) -> None:
    """A marker that nothing follows as the format says is prose, and so is a brace."""
    form = FORMATS[shape]
    for marker in list_markers(form):
        text = f"The text {marker} is a marker; so is `{marker}`, and {{this}} [is] f(x) not a call: {marker}"
        assert read_all_ways(form, text, TOOLS, open_turn(shape)).content == text
    for text in ("{", "{ and then", '{"a": 1} is an object', '[1, 2] {"name": "zzz", "parameters": {}}', "f(x) = [f(x)]"):
        assert read_all_ways(form, text, TOOLS, open_turn(shape)).content == text


@pytest.mark.parametrize("shape", THINKING)
def test_call_in_unclosed_reasoning(shape: str) -> None:
    form = FORMATS[shape]
    assert form.reasoning
    call = write_call(shape, "f", {"a": "x"})
    text = form.reasoning.start.written + "I shall call" + call
    reading = read_all_ways(form, text, TOOLS, open_turn(shape))
    assert (reading.reasoning, load(reading.calls)) == ("I shall call", [("f", {"a": "x"})])
    # The end marker that was still missing is structure when it comes, once.
    reading = read_all_ways(form, text + "then" + form.reasoning.end.text + "Hi", TOOLS, open_turn(shape))
    assert (reading.reasoning, reading.content) == ("I shall call", "thenHi")
    doubled = text + form.reasoning.end.text + "Hi" + form.reasoning.end.text
    assert read_all_ways(form, doubled, TOOLS, open_turn(shape)).content == "Hi" + form.reasoning.end.text


@pytest.mark.parametrize("shape", THINKING)
def test_call_of_no_tool_in_reasoning_is_reasoning(shape: str) -> None:
    form = FORMATS[shape]
    assert form.reasoning
    inner = "I could write" + write_call(shape, "other", {"a": "x"}) + " but no"
    text = form.reasoning.start.text + inner + form.reasoning.end.text + "Hi"
    reading = read_all_ways(form, text, TOOLS, open_turn(shape))
    assert (reading.reasoning, reading.content, reading.calls) == (inner, "Hi", [])


@pytest.mark.parametrize("shape", THINKING)
def test_reasoning_end_doubled_or_without_newline(shape: str) -> None:
    form = FORMATS[shape]
    assert form.reasoning
    start, end = form.reasoning.start.text, form.reasoning.end.text
    reading = read_all_ways(form, f"{start}hm{end}Hi", TOOLS, open_turn(shape))
    assert (reading.reasoning, reading.content) == ("hm", "Hi")
    reading = read_all_ways(form, f"{start}hm{end}Hi{end}", TOOLS, open_turn(shape))
    assert (reading.reasoning, reading.content) == ("hm", "Hi" + end)


@pytest.mark.parametrize("shape", SHAPES)
def test_closers_missing(shape: str) -> None:
    """A call without the end markers after it is a call, and what follows it is text or the next call."""
    form = FORMATS[shape]
    assert form.tools
    ends = [form.tools.section_end.text, *form.tools.call_end.text.split("\n")[::-1]]
    text = write_call(shape, "f", {"a": "x"})
    for end in ends:
        text = text.removesuffix(end.strip("])") or end).rstrip("\n")
    if shape in ("TAGGED", "KEY_VALUE", "TYPED", "MARKUP"):
        text = text.removesuffix("</function>").rstrip("\n") + form.turn.end[0].text
    reading = read_all_ways(form, text, TOOLS, open_turn(shape))
    assert load(reading.calls) == [("f", {"a": "x"})]
    assert (reading.content or "") in ("", ")", "]", ")]")


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if FORMATS[shape].tools.call_end.text.strip(")")])  # type: ignore[union-attr]
def test_closer_doubled(shape: str) -> None:
    """The second of two end markers is text."""
    form = FORMATS[shape]
    assert form.tools
    end = (form.tools.section_end.text or form.tools.call_end.text).split("\n")[-1]
    reading = read_all_ways(form, write_call(shape, "f", {"a": "x"}) + " and" + end, TOOLS, open_turn(shape))
    assert load(reading.calls) == [("f", {"a": "x"})]
    assert reading.content in (" and" + end, " and" if shape == "CHANNELS" else None)


@pytest.mark.parametrize("shape", SHAPES)
def test_layout_left_out_or_added(shape: str) -> None:
    """White space around and inside markup is layout, not structure."""
    form, text = FORMATS[shape], write_call(shape, "f", {"a": "x", "n": 3})
    expected = [("f", {"a": "x", "n": 3})]
    for changed in (text.strip(), "\n\n" + text + "\n", text.replace("\n", "\n\n") if "parameter=" not in text else text):
        assert load(read_all_ways(form, changed, TOOLS, open_turn(shape)).calls) == expected
    if shape in ("JSON_TAGS", "TAGGED", "KEY_VALUE", "TYPED", "NESTED"):
        squeezed = text.replace("\n", "") if shape != "KEY_VALUE" else text.replace(">\n", ">")
        assert load(read_all_ways(form, squeezed, TOOLS, open_turn(shape)).calls) == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_in_any_number_and_order(shape: str) -> None:
    """No arguments, another order, undeclared ones."""
    form = FORMATS[shape]
    for arguments in ({}, {"n": 3, "a": "x"}, {"zz": "y", "a": "x"}):
        reading = read_all_ways(form, write_call(shape, "f", arguments), TOOLS, open_turn(shape))
        assert [(name, list(loaded.items())) for name, loaded in load(reading.calls)] == [("f", list(arguments.items()))]


@pytest.mark.parametrize("shape", FREE)
def test_text_around_calls(shape: str) -> None:
    form = FORMATS[shape]
    text = "Before" + write_call(shape, "f", {"a": "x"}) + "between" + write_call(shape, "g", {"city": "y"}) + "after"
    reading = read_all_ways(form, text, TOOLS, open_turn(shape))
    assert load(reading.calls) == [("f", {"a": "x"}), ("g", {"city": "y"})]
    assert reading.content == "Beforebetweenafter"


@pytest.mark.parametrize("shape", SHAPES)
def test_unknown_function(shape: str) -> None:
    """Markup makes a call, whatever it calls; without markup it takes a tool's name."""
    text = write_call(shape, "other", {"a": "x"})
    reading = read_all_ways(FORMATS[shape], text, TOOLS, open_turn(shape))
    if shape in BARE:
        assert (reading.calls, reading.content) == ([], text)
    else:
        assert load(reading.calls) == [("other", {"a": "x"})]


@pytest.mark.parametrize("shape", FREE)
def test_bad_call_beside_a_good_one(shape: str) -> None:
    """A call that is none is text, verbatim, and the others stay calls."""
    form, good = FORMATS[shape], write_call(shape, "f", {"a": "x"})
    bad = write_call(shape, "f", {}).replace("f", "not a name", 1) if shape in BARE else write_call(shape, "not a name", {})
    for text in (bad + good, good + bad):
        reading = read_all_ways(form, text, TOOLS, open_turn(shape))
        assert load(reading.calls) == [("f", {"a": "x"})]
        assert "not a name" in (reading.content or "")


def test_bad_element_of_an_array() -> None:
    form = FORMATS["JSON_ARRAY"]
    bad, good = '{"oops": 1}', '{"name": "f", "arguments": {}}'
    reading = read_all_ways(form, f"[TOOL_CALLS][{bad}, {good}]", TOOLS)
    assert (reading.content, reading.calls) == (f"[TOOL_CALLS][{bad}, ", [("f", "{}")])
    reading = read_all_ways(form, f"[TOOL_CALLS][{good}, {bad}, {good}]", TOOLS)
    assert (reading.content, reading.calls) == (f", {bad}, ", [("f", "{}"), ("f", "{}")])


@pytest.mark.parametrize(
    ("rest", "content"),
    [(', "id": "x1"', None), (", oops", ", oops"), (', "id" oops', ', "id" oops'), (', "id": "x1", oops', ", oops")],
)
def test_rest_of_a_call_goes_wrong(rest: str, content: str | None) -> None:
    """A call whose arguments are complete is one, though its object is not closed, or goes on as none does."""
    reading = read_all_ways(FORMATS["JSON_ARRAY"], '[TOOL_CALLS][{"name": "f", "arguments": {}' + rest, TOOLS)
    assert (reading.content, reading.calls) == (content, [("f", "{}")])
    assert reading.ids[0] == "x1" or '"x1"' not in rest


def test_no_value_where_the_arguments_belong() -> None:
    """Some templates print no arguments as nothing at all."""
    text = 'a<tool_call>{"name": "f", "arguments": }</tool_call>' + write_call("JSON_TAGS", "g", {"city": "x"})
    reading = read_all_ways(FORMATS["JSON_TAGS"], text, TOOLS)
    assert (reading.content, reading.calls) == ("a", [("f", "{}"), ("g", '{"city": "x"}')])
    reading = read_all_ways(FORMATS["JSON_TAGS"], text.replace(": }<", ": oops}<"), TOOLS)
    assert (len(reading.calls), "oops" in (reading.content or "")) == (1, True)


def test_slots_that_begin_alike() -> None:
    """The longer of two beginnings is waited for, however the text is split."""
    form = FORMATS["TAGGED"]
    assert form.tools
    string = Slot(Marker('>\n"'), Marker('"\n&lt;/parameter&gt;'), "string")
    other = Slot(Marker(">", after="\n"), Marker("</parameter>", before="\n"), "other")
    arguments = form.tools.arguments
    arguments = replace(arguments, object=replace(arguments.object, separator="", slots=(string, other)))
    form = replace(form, tools=replace(form.tools, arguments=arguments))
    entries = [("recipient", '""'), ("greeting", '"x"'), ("n", "5"), ("zz", '"y"')]
    ends = {"n": "</parameter>"}
    text = "".join(f"<parameter={key}>\n{value}\n{ends.get(key, '&lt;/parameter&gt;')}\n" for key, value in entries)
    reading = read_all_ways(form, f"<tool_call>\n<function=f>\n{text}</function>\n</tool_call>", TOOLS)
    assert load(reading.calls) == [("f", {"recipient": "", "greeting": "x", "n": 5, "zz": "y"})]


@pytest.mark.parametrize("shape", SHAPES)
def test_cut_anywhere(shape: str) -> None:
    """Wherever the output ends, what was streamed of the arguments is a beginning of them, and a cut call is said to be."""
    form = FORMATS[shape]
    text = ("" if shape in HEADED else "Hi") + write_call(shape, "f", {"a": "some text", "n": 12, "l": [1, {"k": "v"}]})
    whole = read(form, [text], TOOLS, open_turn(shape)).calls[0][1]
    for end in range(len(text)):
        reading = read_all_ways(form, text[:end], TOOLS, open_turn(shape))
        for name, arguments in reading.calls:
            assert name == "f"
            assert whole.startswith(arguments) or not arguments.endswith("}")
            assert reading.incomplete == (set() if arguments == whole else {0})
        if not reading.calls:
            assert (reading.content or "").rstrip() == text[:end].rstrip()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "MARKUP"])
def test_markers_inside_strings(shape: str) -> None:
    """The text of markers inside a string value is text."""
    form = FORMATS[shape]
    markers = list_markers(form) + [marker.text for marker in form.turn.end]
    if shape == "ODD":
        markers += ["}", '"', "<|'|>"]
    if shape in ("TAGGED", "KEY_VALUE", "TYPED"):
        assert form.tools
        notation = form.tools.arguments.object
        markers += [notation.key_start, notation.slots[0].end.text + " x", notation.slots[0].start.text]
    for marker in markers:
        arguments = {"a": f"say {marker} and {marker}{marker}", "n": 1}
        reading = read_all_ways(form, write_call(shape, "f", arguments), TOOLS, open_turn(shape))
        assert load(reading.calls) == [("f", arguments)]
        assert reading.content is None


def test_end_of_turn_inside_text() -> None:
    """The end of the turn is structure at the end of the output only."""
    form = FORMATS["JSON_TAGS"]
    assert read_all_ways(form, "a<|im_end|>b<|im_end|>").content == "a<|im_end|>b"
    assert read_all_ways(form, "a<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n").content == "ab"
    assert read_all_ways(form, "a<|im_e").content == "a<|im_e"


@pytest.mark.parametrize("shape", ["JSON_TAGS", "TAGGED", "FENCED", "ID_NAME", "TYPED", "MARKUP"])
def test_outer_marker_forgotten(shape: str) -> None:
    """The inner of two openers is enough."""
    form, text = FORMATS[shape], write_call(shape, "f", {"a": "x"})
    assert form.tools
    outer = form.tools.section_start.text or form.tools.call_start.text.split("\n")[0]
    if shape != "JSON_TAGS":
        text = text.replace(outer, "", 1)
    assert load(read_all_ways(form, text, TOOLS).calls) == [("f", {"a": "x"})]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "Hi ", " Hi\n\n", "\n\nHi", "a\n\n\n\nb", "x <", "x\n<", "\ud800", "\0"])
@pytest.mark.parametrize("shape", FREE)
def test_white_space_and_oddities_of_plain_text(shape: str, text: str) -> None:
    """Plain text keeps its white space; only what the layout of a marker in the prompt takes is gone."""
    form = FORMATS[shape]
    prompt = "" if shape != "NESTED" else open_turn(shape)
    expected = text
    if shape == "NESTED":
        expected = text.removeprefix("\n") if text.strip() else ""
    assert read_all_ways(form, text, TOOLS, prompt).content == (expected or None)


DEEP = 3000


@pytest.mark.parametrize("shape", SHAPES)
def test_deep_nesting_and_floods(shape: str) -> None:
    """Nothing recurses, and nothing is lost."""
    form = FORMATS[shape]
    for text in ("[" * DEEP, "{" * DEEP, '{"a":' * DEEP, "<" * DEEP, "<|" * DEEP, '{"arguments":' * (DEEP // 10)):
        reading = read(form, [text], TOOLS, "")
        assert text.startswith(reading.content or "")
        assert (reading.content or reading.reasoning) == text
    nested: Any = 1
    for _ in range(200):
        nested = [nested]
    reading = read_all_ways(form, write_call(shape, "f", {"zz": nested}), TOOLS, open_turn(shape))
    assert load(reading.calls) == [("f", {"zz": nested})]


@pytest.mark.parametrize("shape", ["TAGGED", "KEY_VALUE", "TYPED"])
def test_output_that_ends_in_the_beginning_of_another_entry(shape: str) -> None:
    """The value before it has ended: its end marker is none of it."""
    form = FORMATS[shape]
    one, two = write_call(shape, "f", {"a": "x"}), write_call(shape, "f", {"a": "x", "n": "y"})
    assert form.tools
    slots = form.tools.arguments.object.slots
    closer = slots[0].end.text
    behind, value = two.index(closer) + len(closer), two.rindex("y")
    assert one[:behind] == two[:behind]
    for end in range(behind, value):
        assert read_all_ways(form, two[:end], TOOLS, open_turn(shape)).calls == [("f", '{"a": "x"')], two[:end]
