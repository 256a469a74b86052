"""The analysis over invented templates: whatever the markers are called, what was designed is found and proven."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import Calls, Design, write_template

import chat_autoparser as ca
from chat_autoparser import conversation, probes

CALLS = get_args(Calls)

# The needles of the probes are found by Hypothesis, which reads the source: a template made of them cannot be questioned.
NEEDLES = {value for module in (probes, conversation) for value in vars(module).values() if isinstance(value, str)}
NEEDLES |= set(conversation.NEEDLES)

words = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=8).filter(lambda word: word not in NEEDLES),
    min_size=6,
    max_size=6,
    unique=True,
).map(tuple)
brackets = st.sampled_from([("<", ">"), ("[", "]"), ("<|", "|>"), ("⟦", "⟧"), ("«", "»"), ("{%", "%}")][:5])

designs = st.builds(
    Design,
    words=words,
    brackets=brackets,
    line=st.sampled_from(["\n", ""]),
    reasoning=st.sampled_from(["none", "tags", "opened by the prompt", "with calls"]),
    content=st.sampled_from(["plain", "wrapped"]),
    calls=st.sampled_from(CALLS),
    section=st.booleans(),
).filter(lambda design: design.calls != "none" or design.reasoning != "with calls")

values = st.recursive(
    st.one_of(
        st.text("ab \"'\\\n<>{}[]é✓,:=/", max_size=12),
        st.integers(-(10**6), 10**6),
        st.booleans(),
        st.none(),
        st.sampled_from(["5", "true", "null", "{}", '{"a": 1}', ""]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("pqr"), inner, max_size=3)),
    max_leaves=5,
)


def make_design(**changes: Any) -> Design:
    given_fields: dict[str, Any] = {
        "words": ("zob", "mull", "krat", "vipp", "drun", "jask"),
        "brackets": ("<", ">"),
        "line": "\n",
        "reasoning": "tags",
        "content": "plain",
        "calls": "json",
        "section": False,
    }
    return Design(**{**given_fields, **changes})


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("section", [False, True])
def test_every_way_of_writing_calls_is_proven(calls: str, section: bool) -> None:
    format = ca.analyze(write_template(make_design(calls=calls, section=section)))
    assert format.verdict.proven, format.verdict
    assert format.verdict.of("tools") == ("absent" if calls == "none" else "proven")
    assert format.verdict.checked >= 4


@pytest.mark.parametrize("reasoning", ["none", "tags", "opened by the prompt", "with calls"])
@pytest.mark.parametrize("content", ["plain", "wrapped"])
def test_every_way_of_writing_reasoning_and_content_is_proven(reasoning: str, content: str) -> None:
    format = ca.analyze(write_template(make_design(reasoning=reasoning, content=content)))
    assert format.verdict.proven, format.verdict
    assert format.verdict.of("reasoning") == ("absent" if reasoning == "none" else "proven")
    if format.reasoning is not None:
        assert (format.reasoning.start.text, format.reasoning.end.text) == ("<mull>", "</mull>")
    assert format.content.start.text == ("<krat>" if content == "wrapped" else "")


def test_the_markers_found_are_the_markers_designed() -> None:
    tools = ca.analyze(write_template(make_design(calls="name and json", section=True))).tools
    assert tools is not None
    assert (tools.section_start.text, tools.section_end.text) == ("<vipp>", "</vipp>")
    assert (tools.call_start.text, tools.call_end.text) == ("<drun>", "</drun>")
    assert tools.body == ca.SequenceBody((("name", "<jask>"), ("arguments", "")))


def test_the_start_of_generation_follows_the_prompt() -> None:
    format = ca.analyze(write_template(make_design(reasoning="opened by the prompt")))
    assert [start.state for start in format.starts] == ["reasoning"]
    assert format.turn.prefix == "<mull>\n"
    assert format.turn.stops == ("</zob>",)


@settings(max_examples=60, deadline=None)
@given(designs)
def test_every_design_is_proven(design: Design) -> None:
    format = ca.analyze(write_template(design))
    assert format.verdict.proven, (write_template(design), format.verdict)


@settings(max_examples=40, deadline=None)
@given(designs, st.dictionaries(st.sampled_from(["city", "n", "opts"]), values, max_size=3), st.data())
def test_parse_after_render_is_the_identity(design: Design, arguments: dict[str, Any], data: st.DataObject) -> None:
    source = write_template(design)
    format = ca.analyze(source)
    message = {
        "role": "assistant",
        "content": data.draw(st.sampled_from(["", "Some text."])),
        "tool_calls": [{"id": "abc123def", "type": "function", "function": {"name": "look_up", "arguments": arguments}}],
    }
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": _declare(arguments)}}]
    render = ca.load_renderer(source)
    user = {"role": "user", "content": "Go."}
    bare = render([user], tools, False)
    header_line = render([message], tools, False).partition("\n")[0] + "\n"
    start = bare + header_line
    whole = render([user, message], tools, False)
    assert whole.startswith(start)
    end = format.turn.stops[0]
    text = whole[len(start) :].rpartition(end)[0]
    parsed = format.parse(text, tools=tools, prompt=start)
    if design.calls == "none":
        assert parsed["content"] == (message["content"] or None)
        return
    (call,) = parsed["tool_calls"]
    assert call["function"]["name"] == "look_up"
    assert json.loads(call["function"]["arguments"]) == arguments
    assert (parsed["content"] or "") == message["content"]


def _declare(arguments: dict[str, Any]) -> dict[str, Any]:
    kinds = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object", type(None): "null"}
    return {"type": "object", "properties": {key: {"type": kinds[type(value)]} for key, value in arguments.items()}}


def test_reasoning_with_nothing_behind_it_is_no_crash() -> None:
    source = (
        "{%- for m in messages -%}[{{ m.role }}]{{ m.content }}"
        "{%- for c in m.tool_calls or [] -%}<c>{{ c.function | tojson }}</c>{%- endfor -%}"
        "{%- if m.tool_calls -%}{{ m.reasoning_content or '' }}{{ ' ' }}{%- endif -%}"
        "{%- endfor -%}{%- if add_generation_prompt -%}[assistant]{%- endif -%}"
    )
    format = ca.analyze(source)
    assert format.reasoning is None
    assert format.tools is not None
    assert format.tools.call_start.text == "<c>"


SPACED = """\
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}

<|X| calls>{% for c in m.tool_calls %}
<|X| call name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}
<|X| value of="{{ k }}" text="{{ 'yes' if v is string else 'no' }}">{{ v if v is string else v | tojson }}</|X| value>
{%- endfor %}
</|X| call>{% endfor %}
</|X| calls>{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


def test_tags_of_several_words_are_cut_at_their_ends() -> None:
    format = ca.analyze(SPACED)
    assert format.verdict.proven
    assert format.tools is not None
    assert format.tools.section_start.text == "<|X| calls>"


def render_strictly(messages: list[dict[str, Any]], tools: Any, add_generation_prompt: bool, thinking: bool = False) -> str:
    """Refuses, when it is to think, an answer without reasoning."""
    text = ""
    for message in messages:
        reasoning = message.get("reasoning_content")
        if message["role"] == "assistant":
            if thinking and not reasoning:
                raise ValueError("no reasoning")
            opening = f"<think>{reasoning}" if thinking else ""
            text += f"<assistant>{opening}</think>{message['content']}<end>"
        else:
            text += f"<{message['role']}>{message['content']}"
    return text + ("<assistant>" + ("<think>" if thinking else "</think>") if add_generation_prompt else "")


def test_content_is_proven_where_the_switch_for_reasoning_refuses_it() -> None:
    verdict = ca.analyze(render_strictly).verdict
    assert dict(verdict.parts) == {"reasoning": "proven", "content": "proven", "tools": "absent"}
