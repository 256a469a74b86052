"""How an output streams: how little is held back, and that work and memory are bounded; with formats of real templates."""

from __future__ import annotations

import sys

import pytest
from streams import pick
from templates import REASONING, SAMPLES, TOOLS, count_work, get_format, open_calls, write_calls, write_lead, write_prompt
from test_parser import SHAPES

from chat_autoparser import ChatFormat, analyze

PROSE = "if a < b and [c] or {d} then <i>e</i> </ p> <| x - y, which `f` says: 3 * 4 | 5\nand more of it. "


def get_delays(form: ChatFormat, prompt: str, before: str, text: str) -> list[int]:
    """How many characters of a text a client does not have yet, behind each of them."""
    parser = form.parser(TOOLS, prompt)
    parser.feed(before)
    have, delays = 0, []
    for place, char in enumerate(text, 1):
        have += sum(len(delta.text) for delta in parser.feed(char))
        delays.append(place - have)
    return delays


@pytest.mark.parametrize("shape", SHAPES)
def test_prose_is_held_back_only_while_it_may_be_structure(shape: str) -> None:
    """One sign with which markers begin must not cost a client the length of a marker."""
    form, (lead, reasoning) = get_format(shape), write_lead(shape)
    assert max(get_delays(form, write_prompt(shape), lead + "So: ", PROSE)) <= 3
    if reasoning:
        assert max(get_delays(form, write_prompt(shape), lead[: lead.index(REASONING)] + "So: ", PROSE)) <= 3


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_are_held_back_only_while_they_may_be_structure(shape: str) -> None:
    """The same behind so many arguments that no id is waited for any more."""
    begun, prose = "begin " * 50, PROSE.replace("\n", " ")
    written = write_calls(shape, ("find_okapi", {"habitat": begun + prose}))
    before, text, _ = written.partition(prose)
    if not text:
        assert shape in ("odd quotes", "invoke tags", "nested markup"), "escapes some of it"
        return
    delays = get_delays(get_format(shape), write_prompt(shape), open_calls(shape) + before, text)
    assert max(delays) - min(delays) <= 3


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_stream(shape: str) -> None:
    """A client sees the name at once and a long argument while it is written."""
    parser = get_format(shape).parser(TOOLS, write_prompt(shape))
    parser.feed(open_calls(shape))
    text = write_calls(shape, ("find_okapi", {"habitat": "x" * 2000}))
    middle = text.index("x" * 2000) + 1000
    deltas = [delta for char in text[:middle] for delta in parser.feed(char)]
    assert (deltas[0].name, deltas[0].index, deltas[0].text) == ("find_okapi", 0, "")
    assert sum(len(delta.text) for delta in deltas[1:]) >= 1000 - 16
    assert parser.calls_seen == 1


def list_long_texts(shape: str, size: int) -> list[str]:
    """Return prose, floods of what opens and of line breaks, and long arguments, each ``size`` times as long as a short one."""
    call = write_calls(shape, ("find_okapi", {"habitat": "x", "limit": 3}))
    many = {f"k{number:04}": number % 10 for number in range(size)}
    return [
        "Some words, " * size,
        (call[:24] + " ") * size,
        (call[: len(call) // 2] * size)[: 25 * size],  # longer than anything is held back
        "\n" * size,
        write_calls(shape, ("find_okapi", {"habitat": "some words " * size})),
        write_calls(shape, ("find_okapi", many)),
    ]


@pytest.mark.parametrize("shape", pick(SHAPES, 3))
def test_work_is_linear(shape: str) -> None:
    """In small pieces the last third of a text costs what the middle one does; in one piece three times the text three times."""
    form, prompt = get_format(shape), write_prompt(shape) + write_lead(shape)[0] * (not SAMPLES[shape].headed)
    for short, long in zip(list_long_texts(shape, 200), list_long_texts(shape, 600), strict=True):
        for text in (short, long):
            form.parse(text, tools=TOOLS, prompt=prompt)  # so that what is made once does not count
        counts = count_work(form, prompt, long, 4)[:-1]
        first, second = counts[len(counts) // 3], counts[len(counts) * 2 // 3]
        assert counts[-1] - second <= 1.15 * (second - first) + 2 * len(long), long[:60]  # what was held is read once more
        assert count_work(form, prompt, long, len(long))[-1] <= 3.3 * count_work(form, prompt, short, len(short))[-1] + 2000, long[:60]


@pytest.mark.parametrize("shape", pick(SHAPES, 3))
def test_work_does_not_grow_faster_where_little_is_held(shape: str) -> None:
    """No bound is reached here that would stop what tries each call of a flood in two ways."""
    form, prompt = get_format(shape), write_prompt(shape)
    for short, long in zip(list_long_texts(shape, 6), list_long_texts(shape, 12), strict=True):
        form.parse(long, tools=TOOLS, prompt=prompt)  # so that what is made once does not count
        assert count_work(form, prompt, long, len(long))[-1] <= 4 * count_work(form, prompt, short, len(short))[-1] + 2000, long[:60]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_piece_of_a_call_costs_little(shape: str) -> None:
    """Counted in what it calls, Python or C."""
    form, text = get_format(shape), write_calls(shape, ("find_okapi", {"habitat": "pen twelve", "limit": 3}))
    count_work(form, prompt := write_prompt(shape), open_calls(shape) + text, 4)  # so that what is made once does not count
    counts = count_work(form, prompt, open_calls(shape) + text, 4)
    assert counts[-1] <= 240 * len(counts)


@pytest.mark.parametrize("shape", pick(SHAPES, 3))
def test_memory_is_bounded(shape: str) -> None:
    """However long a value or a flood of half markers is, little of it is held."""
    form = get_format(shape)
    before = open_calls(shape)
    for text in list_long_texts(shape, 2000):
        parser = form.parser(TOOLS, write_prompt(shape))
        parser.feed(before)
        held = 0
        for start in range(0, len(text), 50):
            parser.feed(text[start : start + 50])
            held = max(held, len(parser.buffer))
        assert held < 20000, text[:60]


RESUMED = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}[do {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.parametrize("begun", ["[do look {", '[do look {"city": "', '[do look {"city": "Os', '[do see {"x": 1}][do look {"city": "'])
def test_a_call_in_which_an_answer_is_continued_comes_from_its_beginning(begun: str) -> None:
    """Its client has a text that was cut, and could do nothing with the rest of a call; what came before the call it has."""
    format = analyze(RESUMED)
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("look", "see")]
    whole = '[do look {"city": "Oslo"}]'
    rest = whole.removeprefix(begun[begun.rindex("[do") :])
    for pieces in ([rest], list(rest)):
        parser = format.parser(tools, f"<user>Hi</user><assistant>{begun}")
        deltas = [delta for piece in pieces for delta in parser.feed(piece)] + parser.finish()
        assert [(delta.index, delta.name) for delta in deltas if delta.name] == [(0, "look")]
        assert "".join(delta.text for delta in deltas) == '{"city": "Oslo"}'
        assert deltas[0].id
        assert parser.calls_seen == 1


def test_a_flood_in_one_piece_costs_as_if_it_came_in_many() -> None:
    """What opens calls, again and again within strings that have no end: each was mended in the light of all that had come."""
    opening, closing = '<do>{"name": "{{ c.function.name }}", "arguments": ', "}</do>{% endfor"
    template = RESUMED.replace("[do {{ c.function.name }} ", opening).replace("]{% endfor", closing)
    format = analyze(template)
    assert format.verdict.proven
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    counts: list[int] = []

    def note(*_: object) -> None:
        counts[-1] += 1

    for size in (200, 800):
        parser = format.parser(tools, "<assistant>", policy="repair")
        counts.append(0)
        sys.setprofile(note)
        parser.feed('<do>{"name": "look", "arguments": {"x": "' * size)
        sys.setprofile(None)
    assert counts[1] < 5 * counts[0] + 1000, "of compiled code few calls are seen"
