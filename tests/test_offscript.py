"""What models really write, with formats derived from real templates: the design's list once more, over rendered text.

A case is a turn that the template renders from known fields, damaged on purpose. What is expected follows from the fields
and from the rule for that damage.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from streams import Reading, get_calls, read, read_all_ways
from templates import REASONING, SAMPLES, TOOLS, get_format, open_calls, write_calls, write_lead, write_prompt

SHAPES = sorted(SAMPLES)
# Text may stand anywhere, and is content there.
FREE = [shape for shape in SHAPES if not SAMPLES[shape].headed]
THINKING = [shape for shape in SHAPES if SAMPLES[shape].think[0]]
CLOSED = [shape for shape in SHAPES if SAMPLES[shape].closers]

FIND: dict[str, Any] = {"habitat": "pen twelve", "limit": 3}
SEND: dict[str, Any] = {"greeting": "hi"}


def read_turn(shape: str, text: str) -> Reading:
    """Read what follows the prompt."""
    return read_all_ways(get_format(shape), text, TOOLS, write_prompt(shape))


def read_behind_lead(shape: str, text: str) -> tuple[str | None, list[tuple[str, Any]]]:
    """Read a text that stands where content does; returns content and calls. The reasoning must be what it was."""
    lead, reasoning = write_lead(shape)
    reading = read_turn(shape, lead + text)
    assert reading.reasoning == reasoning
    return reading.content, get_calls(reading)


@pytest.mark.parametrize("shape", SHAPES)
def test_as_rendered(shape: str) -> None:
    """Nothing is damaged: what the cases below start from is read as it was meant."""
    calls = [("find_okapi", FIND), ("send_card", SEND)][: 1 if SAMPLES[shape].single else 2]
    text = open_calls(shape) + write_calls(shape, *calls)
    for end in ("", SAMPLES[shape].end):
        reading = read_turn(shape, text + end)
        assert (reading.reasoning, reading.content) == (write_lead(shape)[1], None)
        assert get_calls(reading) == calls


@pytest.mark.parametrize("shape", SHAPES)
def test_prose_that_mentions_markers(shape: str) -> None:
    sample = SAMPLES[shape]
    for marker in filter(None, (sample.opener, *sample.closers, *sample.think)):
        text = f"The text {marker} is a marker; so is `{marker}`, and {{this}} [is] f(x) not a call: {marker}!"
        assert read_behind_lead(shape, text) == (text, [])
    for text in ("{", "{ and then", '{"a": 1} is an object', '[1, 2] {"name": "zzz", "parameters": {}}', "f(x) = [f(x)]"):
        assert read_behind_lead(shape, text) == (text, [])


@pytest.mark.parametrize("shape", THINKING)
def test_call_in_unclosed_reasoning(shape: str) -> None:
    end = SAMPLES[shape].think[1]
    lead, _ = write_lead(shape)
    opened = lead[: lead.index(REASONING)] + REASONING
    # Where the name stands in the header of a message, nothing is a call without the beginning of one.
    header = SAMPLES[shape].between if shape == "channels" else ""
    text = opened + header + write_calls(shape, ("find_okapi", FIND))
    reading = read_turn(shape, text)
    assert (reading.reasoning, reading.content, get_calls(reading)) == (REASONING, None, [("find_okapi", FIND)])
    if not SAMPLES[shape].headed:
        # The end marker that was still missing is structure when it comes, once: then the call was a draft, if an answer follows.
        reading = read_turn(shape, f"{text}\nWell,{end}hello, {end} again.")
        assert (reading.content or "").lstrip() == f"hello, {end} again."
        assert (reading.reasoning or "").startswith(REASONING)
        assert reading.calls == []
        reading = read_turn(shape, text + end)
        assert (reading.reasoning, (reading.content or "").strip(), get_calls(reading)) == (REASONING, "", [("find_okapi", FIND)])


@pytest.mark.parametrize("shape", sorted({*THINKING} & {*CLOSED}))
def test_call_within_a_sentence_of_reasoning_is_reasoning(shape: str) -> None:
    lead, _ = write_lead(shape)
    thought = f"{REASONING} Should I write {write_calls(shape, ('find_okapi', FIND)).strip()} now? No."
    reading = read_turn(shape, lead.replace(REASONING, thought) + "Hello.")
    assert (reading.reasoning, reading.content, reading.calls) == (thought, "Hello.", [])


@pytest.mark.parametrize("shape", THINKING)
def test_call_of_no_tool_in_reasoning_is_reasoning(shape: str) -> None:
    lead, _ = write_lead(shape)
    unknown = write_calls(shape, ("ask_keeper", FIND))
    reading = read_turn(shape, lead.replace(REASONING, f"{REASONING} Like {unknown}?") + "Hello.")
    assert (reading.reasoning, reading.content, reading.calls) == (f"{REASONING} Like {unknown}?", "Hello.", [])


@pytest.mark.parametrize("shape", THINKING)
def test_end_of_reasoning_doubled_or_without_line_break(shape: str) -> None:
    end = SAMPLES[shape].think[1]
    lead, _ = write_lead(shape)
    squeezed = lead.replace("\n" + end, end).replace(end + "\n\n", end).replace(end + "\n", end)
    for before in (lead, squeezed):
        reading = read_turn(shape, before + "Hello.")
        assert (reading.reasoning, reading.content) == (REASONING, "Hello.")
        reading = read_turn(shape, f"{before}Hello.{end} Really.")
        assert (reading.reasoning, reading.content) == (REASONING, f"Hello.{end} Really.")


@pytest.mark.parametrize("shape", CLOSED)
def test_closers_missing(shape: str) -> None:
    """Before the end of the turn or the next call, any number of the outer end markers may be missing."""
    sample = SAMPLES[shape]
    text = open_calls(shape) + write_calls(shape, ("find_okapi", FIND))
    other = write_calls(shape, ("send_card", SEND))
    for closer in reversed(sample.closers):
        text = text.rstrip()
        assert text.endswith(closer)
        text = text.removesuffix(closer).rstrip()
        reading = read_turn(shape, text + sample.end)
        assert (reading.content, get_calls(reading)) == (None, [("find_okapi", FIND)]), closer
        if not sample.bare:
            reading = read_turn(shape, text + "\n" + other + sample.end)
            assert get_calls(reading) == [("find_okapi", FIND), ("send_card", SEND)], closer
            assert reading.content is None


def find_ends_of_calls(shape: str) -> tuple[str, list[str], int]:
    """Return a call up to its only value, the pieces of what ends it, and how many of these end the value itself."""
    head, value, close = (open_calls(shape) + write_calls(shape, ("find_okapi", {"habitat": "pen twelve"}))).partition("pen twelve")
    pieces = re.findall(r"(?:\]<\]\w+\[>\[)?<[^<>]*>|[^<\]]|\]", close)
    end = pieces.index(next(piece for piece in pieces if not piece.isspace())) + 1 + close.startswith("\\")
    return head + value, pieces, end


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SAMPLES[shape].end and shape != "JSON array"])
def test_any_stretch_of_what_ends_a_call_missing(shape: str) -> None:
    """Before the end of the turn any stretch of it may be missing, but the quote that ends a string, or half of another mark.

    One array writes an id behind the arguments, which is no end.
    """
    head, pieces, end = find_ends_of_calls(shape)
    stop, raw = SAMPLES[shape].end, SAMPLES[shape].raw
    places = [0] * raw + list(range(end, len(pieces)))
    for first in places:
        for last in range(max(first, end) if not raw else max(first + 1, end), len(pieces) + 1):
            text = head + "".join(pieces[:first] + pieces[last:]) + stop
            reading = read_all_ways(get_format(shape), text, TOOLS, write_prompt(shape), policy="repair")
            assert get_calls(reading) == [("find_okapi", {"habitat": "pen twelve"})], text
            assert not reading.incomplete, text
            assert (reading.content or "").strip() == "", text


def test_call_cut_short_in_unclosed_reasoning_leaves_no_mark_in_content() -> None:
    shape = "JSON in tags"
    lead, _ = write_lead(shape)
    call = write_calls(shape, ("find_okapi", FIND)).removesuffix("}\n</tool_call>")
    reading = read_turn(shape, lead[: lead.index(REASONING)] + call + SAMPLES[shape].end)
    assert (reading.content, get_calls(reading)) == (None, [("find_okapi", FIND)])


@pytest.mark.parametrize("shape", [shape for shape in CLOSED if len(SAMPLES[shape].closers[-1]) > 1])
def test_closer_doubled(shape: str) -> None:
    """The second of two end markers is text, or it does not reach a client; what stands around it does, and the call is one."""
    end = SAMPLES[shape].closers[-1]
    for between in ("", " And"):
        text = open_calls(shape) + write_calls(shape, ("find_okapi", FIND)) + between + end
        reading = read_turn(shape, text)
        assert get_calls(reading) == [("find_okapi", FIND)]
        assert reading.content in (between + end, between or None)


@pytest.mark.parametrize("shape", SHAPES)
def test_layout_left_out_or_added(shape: str) -> None:
    """White space around markup is layout, not structure."""
    text = write_calls(shape, ("find_okapi", FIND))
    for changed in (text.strip(), f"\n\n{text}\n", text.replace(">\n<", "><"), text.replace("><", ">\n<")):
        reading = read_turn(shape, open_calls(shape) + changed)
        assert (reading.content, get_calls(reading)) == (None, [("find_okapi", FIND)])


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_in_any_number_and_order(shape: str) -> None:
    """None, missing, in another order, undeclared."""
    for arguments in ({}, {"limit": 3}, {"limit": 3, "habitat": "pen twelve"}, {"colour": "brown", "habitat": "pen twelve"}):
        text = write_calls(shape, ("find_okapi", arguments))
        reading = read_turn(shape, open_calls(shape) + text)
        [(name, got)] = get_calls(reading)
        assert (reading.content, name, got) == (None, "find_okapi", arguments)
        assert list(got) == sorted(arguments, key=text.index)


@pytest.mark.parametrize("shape", FREE)
def test_text_around_calls(shape: str) -> None:
    first, second = write_calls(shape, ("find_okapi", FIND)), write_calls(shape, ("send_card", SEND))
    calls = [("find_okapi", FIND), ("send_card", SEND)]
    text = f"Before{first}between{second}after"
    assert read_behind_lead(shape, text) == ("Beforebetweenafter", calls)
    text = f"Well, one: {first} Two: {second} Done."
    content, got = read_behind_lead(shape, text)
    assert "".join((content or "").split()) == "Well,one:Two:Done."
    assert got == calls


@pytest.mark.parametrize("shape", SHAPES)
def test_unknown_function(shape: str) -> None:
    """Markup makes a call, whatever it calls; without markup it takes a tool's name."""
    text = write_calls(shape, ("ask_keeper", FIND))
    reading = read_turn(shape, open_calls(shape) + text)
    if SAMPLES[shape].bare:
        assert (reading.content, reading.calls) == (text, [])
    else:
        assert (reading.content, get_calls(reading)) == (None, [("ask_keeper", FIND)])


@pytest.mark.parametrize("shape", SHAPES)
def test_request_without_tools(shape: str) -> None:
    """Nothing is a call then, and nothing is lost."""
    text = write_calls(shape, ("find_okapi", FIND))
    reading = read_all_ways(get_format(shape), write_lead(shape)[0] + f"So: {text}!", [], write_prompt(shape))
    assert (reading.content, reading.calls) == (f"So: {text}!", [])


@pytest.mark.parametrize("shape", FREE)
def test_bad_call_beside_a_good_one(shape: str) -> None:
    """A call that is none is text, verbatim, and the others stay calls."""
    good = write_calls(shape, ("find_okapi", FIND))
    bad = write_calls(shape, ("send_card", SEND)).replace("send_card", "no name at all")
    for text, content in ((bad + good, bad), (good + bad, bad)):
        assert read_behind_lead(shape, text) == (content, [("find_okapi", FIND)])


@pytest.mark.parametrize("shape", SHAPES)
def test_cut_anywhere(shape: str) -> None:
    """Wherever the output ends, what was streamed of the arguments is a beginning of them, and a cut call is said to be."""
    form, prompt, lead = get_format(shape), write_prompt(shape), open_calls(shape)
    arguments = {"habitat": "pen twelve", "limit": 12, "tags": ["a", "b"], "frame": {"hue": "red"}}
    text = write_calls(shape, ("find_okapi", arguments))
    whole = read(form, [lead + text], TOOLS, prompt).calls[0][1]
    assert json.loads(whole) == arguments
    begun = False
    for end in range(1, len(text)):
        reading = read(form, [lead + text[:end]], TOOLS, prompt)
        assert reading[:4] == read(form, lead + text[:end], TOOLS, prompt)[:4]
        for name, got in reading.calls:
            assert name == "find_okapi"
            assert whole.startswith(got) or not got.endswith("}")
            assert reading.incomplete == (set() if got == whole else {0})
        assert begun <= bool(reading.calls)
        begun = begun or any(got for _, got in reading.calls)
        if not reading.calls and not SAMPLES[shape].headed:
            half = "half of a mark" in reading.recoveries
            assert (reading.content or "").rstrip() == ("" if half else text[:end].rstrip())


@pytest.mark.parametrize("shape", SHAPES)
def test_markers_inside_strings(shape: str) -> None:
    """The text of markers inside a string value is text."""
    sample = SAMPLES[shape]
    markers = [sample.opener, *sample.closers, *sample.think, sample.end.strip(), '"', "'", "}", "]", ")"]
    for marker in filter(None, markers):
        arguments = {"habitat": f"say {marker} and {marker}{marker} now", "limit": 3}
        reading = read_turn(shape, open_calls(shape) + write_calls(shape, ("find_okapi", arguments)))
        assert (reading.content, get_calls(reading)) == (None, [("find_okapi", arguments)]), marker


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not SAMPLES[shape].single])
def test_several_calls_in_one_chunk(shape: str) -> None:
    calls = [("find_okapi", FIND), ("send_card", SEND), ("find_okapi", {"limit": 1}), ("send_card", {})]
    form, text = get_format(shape), open_calls(shape) + write_calls(shape, *calls)
    parser = form.parser(TOOLS, write_prompt(shape))
    deltas = parser.feed(text)
    assert [delta.index for delta in deltas if delta.name] == [0, 1, 2, 3]
    assert get_calls(read_turn(shape, text)) == calls


TAGS, ARRAY = "JSON in tags", "JSON array"


def test_the_end_of_the_turn_is_structure_at_the_end_of_the_output_only() -> None:
    assert read_behind_lead(TAGS, "a<|im_end|>b<|im_end|>") == ("a<|im_end|>b", [])
    assert read_behind_lead(TAGS, "a<|im_e") == ("a<|im_e", [])


@pytest.mark.parametrize("shape", ["tagged arguments", "name in markup", "id with name", "typed tags", "invoke tags"])
def test_outer_marker_forgotten(shape: str) -> None:
    """The inner of two openers is enough."""
    text = write_calls(shape, ("find_okapi", FIND)).replace(SAMPLES[shape].opener, "", 1)
    assert read_behind_lead(shape, text)[1] == [("find_okapi", FIND)]


def test_bad_element_of_a_list() -> None:
    """What is no call stays text, and the others of the list are calls."""
    good = write_calls(ARRAY, ("find_okapi", {"limit": 1})).strip().removeprefix("[TOOL_CALLS]").strip()[1:-1]
    bad = '{"oops": 1}'
    for text in (f"[TOOL_CALLS][{bad}, {good}]", f"[TOOL_CALLS][{good}, {bad}]"):
        content, calls = read_behind_lead(ARRAY, text)
        assert calls == [("find_okapi", {"limit": 1})]
        assert bad in (content or "")


@pytest.mark.parametrize("rest", ["", ", oops", ', "id" oops'])
def test_rest_of_a_call_goes_wrong(rest: str) -> None:
    """A call whose arguments are complete is one, though its object is not closed, or goes on as none does."""
    content, calls = read_behind_lead(ARRAY, '[TOOL_CALLS][{"name": "find_okapi", "arguments": {"limit": 1}' + rest)
    assert calls == [("find_okapi", {"limit": 1})]
    assert (content or "").strip(" ,") == rest.strip(" ,")


def test_no_value_where_the_arguments_belong() -> None:
    """Some templates print no arguments as nothing at all."""
    good = write_calls(TAGS, ("send_card", SEND))
    text = 'a\n<tool_call>\n{"name": "find_okapi", "arguments": }\n</tool_call>\n' + good
    assert read_behind_lead(TAGS, text) == ("a", [("find_okapi", {}), ("send_card", SEND)])
    content, calls = read_behind_lead(TAGS, text.replace(": }\n<", ": oops}\n<"))
    assert calls == [("send_card", SEND)]
    assert "oops" in (content or "")


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SAMPLES[shape].raw])
def test_output_that_ends_in_the_beginning_of_another_entry(shape: str) -> None:
    """The value before it has ended: its end marker is none of it."""
    text = write_calls(shape, ("find_okapi", {"habitat": "pen twelve", "zone": "north"}))
    place = text.index("zone")
    opened = text[text.index("pen twelve") + len("pen twelve") : place]
    for cut in range(1, len(opened)):
        reading = read_turn(shape, open_calls(shape) + text[: place - cut])
        ((name, arguments),) = reading.calls
        assert name == "find_okapi"
        if cut < len(opened.strip()) // 2:
            assert opened.strip()[:8] not in arguments


def test_other_quotes_around_names() -> None:
    written = write_calls("invoke tags", ("find_okapi", FIND))
    assert read_behind_lead("invoke tags", written.replace('"', "'")) == (None, [("find_okapi", FIND)])


@pytest.mark.parametrize("shape", ["JSON in tags", "name in markup", "JSON behind two markers", "name between markers"])
def test_arguments_in_a_fence(shape: str) -> None:
    written, plain = write_calls(shape, ("find_okapi", FIND)), json.dumps(FIND)
    assert written.count(plain) == 1
    for word in ("json", ""):
        fenced = written.replace(plain, f"\n```{word}\n{plain}\n```\n")
        assert read_behind_lead(shape, fenced) == (None, [("find_okapi", FIND)])


@pytest.mark.parametrize("shape", FREE)
def test_a_sign_too_many_between_calls(shape: str) -> None:
    """A separator or a closing bracket behind a call is no text, where another call follows."""
    first, second = write_calls(shape, ("find_okapi", FIND)), write_calls(shape, ("send_card", SEND))
    for sign in ",;":
        assert read_behind_lead(shape, f"{first}{sign}\n{second}") == (None, [("find_okapi", FIND), ("send_card", SEND)])


def test_bare_json_amid_prose_is_a_call_if_it_is_one() -> None:
    call = write_calls("bare JSON", ("find_okapi", FIND))
    content, calls = read_behind_lead("bare JSON", f"I ask: {call} and wait.")
    assert ((content or "").split(), calls) == (["I", "ask:", "and", "wait."], [("find_okapi", FIND)])
    example = 'Write {"name": "find_okapi", "parameters": {"habitat": ...}} then.'
    assert read_behind_lead("bare JSON", example) == (example, [])
