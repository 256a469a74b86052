"""What every parser holds to, whatever the format: here those of real templates, with turns that the templates render."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import get_calls, read, read_all_ways
from templates import CONTENT, REASONING, SAMPLES, TOOLS, get_format, open_calls, write_calls, write_lead, write_prompt

from chat_autoparser import AutoparserError, ChatFormat, Delta

SHAPES = sorted(SAMPLES)
FREE = [shape for shape in SHAPES if not SAMPLES[shape].headed]
THINKING = [shape for shape in SHAPES if SAMPLES[shape].think[0]]
TAGS = "JSON in tags"  # <think>, <tool_call> with JSON inside, and a prompt that leaves reasoning to the model


def open_content(shape: str) -> str:
    """Return a prompt behind which the model writes content: that of the template, with what stands before content."""
    return write_prompt(shape) + write_lead(shape)[0]


# Whatever comes

_MARKS = {
    part for sample in SAMPLES.values() for part in (sample.opener, *sample.closers, *sample.think, sample.end.strip()) if part
}
_OTHERS = ("{", "}", '"name":"find_okapi"', '"arguments":', "find_okapi", "text", "é", "\n", " ", "\ud800", "\0", "<", "[")
NOISE = st.lists(st.sampled_from([*sorted(_MARKS), *_OTHERS]), max_size=14)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SHAPES), NOISE, st.sampled_from([None, TOOLS, []]))
def test_splits_never_matter(shape: str, pieces: list[str], tools: list[dict[str, Any]] | None) -> None:
    form, text, prompt = get_format(shape), "".join(pieces), write_prompt(shape)
    whole = read(form, [text], tools, prompt)
    assert read(form, pieces, tools, prompt)[:4] == whole[:4]
    assert read(form, list(text), tools, prompt)[:4] == whole[:4]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SHAPES), st.data())
def test_splits_of_rendered_calls_never_matter(shape: str, data: st.DataObject) -> None:
    """Calls of the template's own, with a stretch cut out or put in twice."""
    form, prompt = get_format(shape), write_prompt(shape)
    text = open_calls(shape) + write_calls(shape, ("find_okapi", {"habitat": "pen", "limit": 3, "tags": ["a", {"b": None}]}))
    start, end = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    text = text[:start] + text[start:end] * data.draw(st.sampled_from([0, 1, 2])) + text[end:]
    read_all_ways(form, text, TOOLS, prompt)


def test_a_value_ends_late_at_the_same_place_however_the_call_behind_it_comes() -> None:
    shape, okapi = "tagged arguments, reasoning opened by the prompt", ("find_okapi", {"habitat": "pen", "limit": 3})
    call = open_calls(shape) + write_calls(shape, okapi)
    end = call.index("</function>") + len("</function>")
    found = read_all_ways(get_format(shape), f"{call[:end]}hink>\n\n{call[call.index('<tool_call>') :]}", TOOLS, write_prompt(shape))
    assert get_calls(found) == [okapi, okapi]


def test_a_blank_before_what_a_recovery_finds_is_the_texts_however_it_comes() -> None:
    text = '<|channel|>analysis<|message|>Hm to=functions.find_okapi<|channel|>commentary json<|message|>{"habitat": "pen"}'
    found = read_all_ways(get_format("channels"), text, TOOLS, write_prompt("channels"))
    assert (found.reasoning, get_calls(found)) == ("Hm ", [("find_okapi", {"habitat": "pen"})])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FREE), st.text(min_size=1, max_size=200).filter(lambda text: not text[0].isspace()))
def test_text_is_content(shape: str, text: str) -> None:
    """Text without structure comes out as it went in; of white space before it see the test behind this one."""
    form, prompt = get_format(shape), open_content(shape)
    assert read(form, [text], [], prompt).content == text
    assert read(form, list(text), None, prompt).content == text


@pytest.mark.parametrize("text", ["", " ", "\n\n", "Hi ", " Hi\n\n", "\n\nHi", "a\n\n\n\nb", "x <", "x\n<", "\ud800", "\0"])
@pytest.mark.parametrize("shape", FREE)
def test_white_space_of_plain_text_is_kept(shape: str, text: str) -> None:
    """But for the layout that may stand behind the end of reasoning, and where there is nothing else, for all of it."""
    found = read_all_ways(get_format(shape), text, TOOLS, open_content(shape)).content or ""
    assert found == text or (text[:1].isspace() and found == text.lstrip("\n") and "\n" in text) or not (found or text.strip())


DEEP = 3000


@pytest.mark.parametrize("shape", FREE)
def test_floods_of_brackets_are_content(shape: str) -> None:
    """Nothing recurses, and nothing is lost."""
    form = get_format(shape)
    for text in ("[" * DEEP, "{" * DEEP, '{"a":' * DEEP, "<" * DEEP, "<|" * DEEP, '{"arguments":' * (DEEP // 10)):
        assert read(form, [text], TOOLS, open_content(shape)).content == text


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "nested markup"])
def test_deep_values(shape: str) -> None:
    nested: Any = 1
    for _ in range(50):
        nested = [nested]
    text = open_calls(shape) + write_calls(shape, ("find_okapi", {"tags": nested}))
    assert get_calls(read_all_ways(get_format(shape), text, TOOLS, write_prompt(shape))) == [("find_okapi", {"tags": nested})]


def test_brackets_that_are_missing_before_another_argument() -> None:
    """The call goes on: nothing of it becomes text, and what was wanted valid is."""
    form, prompt = get_format("typed tags"), write_prompt("typed tags")
    text = open_calls("typed tags") + write_calls("typed tags", ("find_okapi", {"tags": ["a", {"b": 1}], "limit": 3}))
    cut = text.replace('["a", {"b": 1}]', '["a", {"b": 1')
    assert cut != text
    found = read_all_ways(form, cut, TOOLS, prompt, "repair")
    assert (found.content, get_calls(found)) == (None, [("find_okapi", {"tags": ["a", {"b": 1}], "limit": 3})])
    assert read_all_ways(form, cut, TOOLS, prompt).content is None


# Where generation starts


@pytest.mark.parametrize("shape", THINKING)
def test_what_the_prompt_has_written_is_read_and_not_emitted(shape: str) -> None:
    """A prompt may go on into the turn: into reasoning, behind it, or into content; what stands before the turn is nothing."""
    form, lead, end = get_format(shape), write_lead(shape)[0], SAMPLES[shape].think[1]
    cut = lead.index(REASONING) + 4
    begun: list[tuple[str, str, str | None]] = [
        (lead[:cut], lead[cut:], REASONING[4:]),
        (lead, "", None),
        (lead + "It is", "", None),
    ]
    begun.append((lead[: lead.index(REASONING)], lead[lead.index(REASONING) :], REASONING))
    for before in ("", f"{SAMPLES[shape].think[0]} of {end} and {SAMPLES[shape].opener}"):
        for written, rest, reasoning in begun:
            reading = read_all_ways(form, rest + " twelve.", TOOLS, before + write_prompt(shape) + written)
            assert reading.reasoning == reasoning, written
            assert (reading.content or "").strip() == "twelve.", written


@pytest.mark.parametrize("shape", SHAPES)
def test_a_prompt_may_be_cut_to_its_tail(shape: str) -> None:
    """What a server knows of the prompt is often its end only, and without any prompt it is what the template appends."""
    form, text = get_format(shape), write_lead(shape)[0] + CONTENT
    prompt = write_prompt(shape)
    whole = read(form, [text], TOOLS, "You are kind." + prompt)
    assert (whole.reasoning, whole.content) == (write_lead(shape)[1], CONTENT)
    assert read(form, [text], TOOLS, prompt[-40:])[:4] == whole[:4]
    if not SAMPLES[shape].switches:
        assert read(form, [text], TOOLS)[:4] == whole[:4]


# Calls


@pytest.mark.parametrize("shape", SHAPES)
def test_where_tools_are_not_known_markup_makes_a_call(shape: str) -> None:
    text = write_calls(shape, ("ask_keeper", {"habitat": "pen"}))
    reading = read(get_format(shape), [open_calls(shape) + text], None, write_prompt(shape))
    assert (reading.content, get_calls(reading)) == (None, [("ask_keeper", {"habitat": "pen"})])


@pytest.mark.parametrize("shape", SHAPES)
def test_ids(shape: str) -> None:
    """An id that the model wrote is kept, whether it stands before or behind the arguments; else there is a new one.

    A number that the template counts is one where it stands as the id.
    """
    call = ("find_okapi", {"habitat": "pen"})
    text = write_calls(shape, call)
    ident = SAMPLES[shape].id.format(name=call[0], number=0)
    (found,) = read_all_ways(get_format(shape), open_calls(shape) + text, TOOLS, write_prompt(shape)).ids
    if ident in text or '_id": "' in text:
        assert found == (ident if ident in text else text.partition('_id": "')[2].partition('"')[0])
    else:
        assert found.startswith("call_")
        assert len(found) == 29


def test_the_end_of_a_long_argument_is_not_waited_for_to_learn_an_id() -> None:
    shape = "JSON array"
    text = write_calls(shape, ("find_okapi", {"habitat": "x" * 400}))
    assert text.index("okapi0000") > text.index("xxx")
    (found,) = read_all_ways(get_format(shape), text, TOOLS, write_prompt(shape)).ids
    assert found.startswith("call_")


def test_an_id_carries_the_name_of_a_tool() -> None:
    """A tool whose name has dots or digits is found in an id as a whole."""
    shape, name = "id with name", "files.read:2"
    text = open_calls(shape) + write_calls(shape, (name, {}))
    tools = [{"type": "function", "function": {"name": other}} for other in (name, "read")]
    assert read_all_ways(get_format(shape), text, tools, write_prompt(shape)).calls == [(name, "{}")]
    assert read_all_ways(get_format(shape), text, None, write_prompt(shape)).calls == [("read:2", "{}")]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"arguments": {"limit": 1}, "name": "find_okapi"}', [("find_okapi", {"limit": 1})]),
        ('{ "name" : "find_okapi" , "arguments" : {"limit": 1} }', [("find_okapi", {"limit": 1})]),
        ('{"id": "x", "name": "find_okapi", "extra": [1, {"y": "}"}], "arguments": {"limit": 1}}', [("find_okapi", {"limit": 1})]),
        ('{"name": "find_okapi"}', [("find_okapi", {})]),
        ('{"name": "find_okapi", "arguments": null}', [("find_okapi", {})]),
        ('{"name": "find_okapi", "arguments": ""}', [("find_okapi", {})]),
        ('{"name":"find_okapi","arguments":{}}', [("find_okapi", {})]),
        (
            '{"name": "find_okapi", "arguments": "{\\"habitat\\": \\"\\ud83d\\ude00 \\\\n\\"}"}',
            [("find_okapi", {"habitat": "😀 \n"})],
        ),
        (
            '[{"name": "find_okapi", "arguments": {}}, {"name": "send_card", "arguments": {"greeting": "]"}}]',
            [("find_okapi", {}), ("send_card", {"greeting": "]"})],
        ),
        ('[{"name": "find_okapi", "arguments": {}}]', [("find_okapi", {})]),
    ],
)
@pytest.mark.parametrize(("shape", "turn"), [(TAGS, "<tool_call>\n{}\n</tool_call>"), ("JSON array", "[TOOL_CALLS]{}")])
def test_calls_as_json(shape: str, turn: str, text: str, calls: list[tuple[str, Any]]) -> None:
    """Keys in any order, with any spacing, beside others; arguments as null or text; a list: nothing of it is lost."""
    reading = read_all_ways(get_format(shape), turn.replace("{}", text), TOOLS, write_prompt(shape))
    assert (reading.content, get_calls(reading)) == (None, calls)

VALUES = {
    "habitat": st.text("ab\"'\\\n é{}[],:=12", max_size=12),
    "limit": st.integers(-(10**6), 10**6),
    "fenced": st.booleans(),
    "tags": st.lists(st.integers() | st.text("ab é", max_size=5), max_size=3),
    "frame": st.dictionaries(st.sampled_from("kmz"), st.integers() | st.booleans() | st.text("ab é", max_size=5), max_size=3),
}
# These print strings between quotes without escaping quotes, or drop what is empty: two messages have one text.
PLAIN = ("call syntax", "pythonic", "odd quotes", "nested markup")


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=25, deadline=None)
@given(arguments=st.fixed_dictionaries({}, optional=VALUES), data=st.data())
def test_any_arguments_are_read_back(shape: str, arguments: dict[str, Any], data: st.DataObject) -> None:
    """Whatever the template writes of them is read back, however it is split; each with the type that its schema has."""
    if shape in PLAIN:
        arguments.update({"habitat": "pen", **{key: [1, "a"] for key in ("tags",) if key in arguments}})
        arguments.update({key: {"k": 1} for key in ("frame",) if key in arguments})
    text = open_calls(shape) + write_calls(shape, ("find_okapi", arguments))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert get_calls(read(get_format(shape), pieces, TOOLS, write_prompt(shape))) == [("find_okapi", arguments)]


# What a server asks


def test_what_a_plugin_asks() -> None:
    parser = get_format(TAGS).parser(TOOLS, write_prompt(TAGS) + "<think>\n")
    assert parser.in_reasoning
    assert not parser.reasoning_ended
    parser.feed("hm\n</think>\n\n")
    assert not parser.in_reasoning
    assert parser.reasoning_ended
    parser.feed('<tool_call>\n{"name": "find_okapi", "arguments": {"habitat": ')
    assert parser.calls_seen == 1
    parser.finish()
    assert parser.incomplete_calls
    assert parser.incomplete_calls == {0}


def test_a_parser_says_whether_it_holds_back() -> None:
    parser = get_format(TAGS).parser(TOOLS, open_content(TAGS))
    parser.feed("Well")
    assert not parser.holds_back
    parser.feed("<tool_c")
    assert parser.holds_back
    assert parser.feed("lown>") == []  # JSON behind any mark may be a call
    assert parser.feed("!")[0].text == "<tool_clown>!"
    assert not parser.holds_back


@pytest.mark.parametrize("shape", [shape for shape in THINKING if not SAMPLES[shape].headed])
def test_what_another_reader_has_handed_on_is_behind_reasoning(shape: str) -> None:
    """An engine's own reasoning parser passes on what stands behind reasoning; the prompt may say that it is open."""
    form, lead, end = get_format(shape), write_lead(shape)[0], SAMPLES[shape].think[1]
    rest = lead[lead.index(end) + len(end) :]
    parser = form.parser(TOOLS, write_prompt(shape), after_reasoning=True)
    deltas = [*parser.feed(rest + CONTENT), *parser.finish()]
    assert "".join(delta.text for delta in deltas if delta.kind == "content").strip() == CONTENT
    assert not [delta for delta in deltas if delta.kind == "reasoning"]


def test_a_closed_parser_refuses_text() -> None:
    parser = get_format(TAGS).parser()
    assert parser.finish() == []
    assert parser.finish() == []
    with pytest.raises(AutoparserError, match="make a new one"):
        parser.feed("x")


def test_odd_tools_do_no_harm() -> None:
    tools: list[Any] = [{}, {"function": None}, None, 5, {"function": {"name": 1}}, *TOOLS]
    text = write_calls(TAGS, ("find_okapi", {"limit": 1}))
    assert get_calls(read(get_format(TAGS), [text], tools, write_prompt(TAGS))) == [("find_okapi", {"limit": 1})]


def test_to_openai() -> None:
    assert Delta("content", "x").to_openai() == {"content": "x"}
    assert Delta("reasoning", "x").to_openai() == {"reasoning_content": "x"}
    assert Delta("tool_call", "", 1, "i", "f").to_openai() == {
        "tool_calls": [{"index": 1, "id": "i", "type": "function", "function": {"name": "f", "arguments": ""}}]
    }
    assert Delta("tool_call", "{", 1).to_openai() == {"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]}


def test_parse_returns_an_openai_message() -> None:
    form = get_format(TAGS)
    assert form.parse("Hi") == {"role": "assistant", "content": "Hi", "reasoning_content": None}
    message = form.parse('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')
    call_id = message["tool_calls"][0]["id"]
    assert message == {
        "role": "assistant",
        "content": None,
        "reasoning_content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_a_format_stays_plain_data_after_use(shape: str) -> None:
    form = get_format(shape)
    before = pickle.dumps(form)
    text = open_calls(shape) + write_calls(shape, ("find_okapi", {"limit": 1}))
    message = form.parse(text, TOOLS, write_prompt(shape))
    assert pickle.dumps(form) == before
    copy: ChatFormat = pickle.loads(before)
    assert copy == form
    again = copy.parse(text, TOOLS, write_prompt(shape))
    assert again["tool_calls"][0]["function"] == message["tool_calls"][0]["function"]


def test_parsers_of_one_format_work_in_several_threads() -> None:
    form, found = get_format(TAGS), []
    text = write_lead(TAGS)[0] + CONTENT + "\n" + write_calls(TAGS, ("find_okapi", {"limit": 1}))

    def work() -> None:
        for _ in range(20):
            found.append(read(form, list(text), TOOLS, write_prompt(TAGS))[:4])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(one == (REASONING, CONTENT, [("find_okapi", '{"limit": 1}')], set()) for one in found)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_prompt_has_written_never_reaches_the_client(shape: str) -> None:
    """Also where its last sign may be the beginning of a mark, so that it is held back with what comes next."""
    form, (lead, _) = get_format(shape), write_lead(shape)
    for tail in ("<", "<reply>", "[", "\n", "{"):
        prompt = write_prompt(shape) + lead + "It is " + tail
        for pieces in (["twelve."], list("twelve.")):
            reading = read(form, pieces, TOOLS, prompt)
            assert (reading.reasoning, reading.content) == (None, "twelve."), tail
