"""Where rendered characters came from: small templates with the expected pieces beside them, and a sample of real ones."""

from __future__ import annotations

import json
from typing import Any

import attributions
import pytest
from corpus import load_corpus, load_source

from chat_autoparser import TemplateError, load_renderer
from chat_autoparser.converse.attribution import Attribution, attribute, attribute_tokens, find_written, mark_tokens

LOOP = "{% for message in messages %}"
CALL = {"id": "abc123def", "type": "function", "function": {"name": "look_up", "arguments": {"b": "Oslo", "a": 3}}}


def cut(attribution: Attribution) -> list[tuple[str, str]]:
    """Return the pieces of a render, each with the last name of its path (empty for scaffold)."""
    return [(text, str(span.field.path[-1]) if span else "") for text, span in attribution.cut()]


def attribute_content(template: str, content: Any) -> list[tuple[str, str]]:
    attribution = attribute(load_renderer(template), [{"role": "user", "content": content}])
    assert not attribution.uncertain
    return cut(attribution)


@pytest.mark.parametrize(
    ("expression", "content", "expected"),
    [
        ("message.content", " hi\n", [("[", ""), (" hi\n", "content"), ("\n]", "")]),
        ("message.content", "user", [("[", ""), ("user", "content"), ("\n]", "")]),
        # What is trimmed is not printed, even where scaffold beside it looks the same.
        ("'\\n' + message.content | trim", "\n\nhi \n", [("[\n", ""), ("hi", "content"), ("\n]", "")]),
        ("'\\n' + message.content.strip('\\n')", "\n hi \n\n", [("[\n", ""), (" hi ", "content"), ("\n]", "")]),
        ("message.content.rstrip()", "\nhi\n", [("[", ""), ("\nhi", "content"), ("\n]", "")]),
        ("message.content | upper", "hi", [("[", ""), ("HI", "content"), ("\n]", "")]),
        ("message.content | tojson", '"hi"\n', [('["', ""), ('\\"hi\\"\\n', "content"), ('"\n]', "")]),
        ("message.content | tojson(ensure_ascii=true)", "ü", [('["', ""), ("\\u00fc", "content"), ('"\n]', "")]),
        ("message.content * 2", "hi", [("[", ""), ("hi", "content"), ("hi", "content"), ("\n]", "")]),
        (
            "message.content if message.content.startswith('<t>') else ''",
            "<t>x",
            [("[", ""), ("<t>x", "content"), ("\n]", "")],
        ),
        ("message.content.split('</t>')[-1].lstrip('\\n')", "a</t>\n\nb", [("[", ""), ("b", "content"), ("\n]", "")]),
        ("message.content.split('</t>')[0]", "a</t>\n\nb", [("[", ""), ("a", "content"), ("\n]", "")]),
        ("message.content[1:3]", "abcd", [("[", ""), ("bc", "content"), ("\n]", "")]),
        ("message.content if message.content | length == 2 else ''", "hi", [("[", ""), ("hi", "content"), ("\n]", "")]),
        ("'hi' if message.content == 'x' else 'ho'", "hi", [("[ho\n]", "")]),
    ],
)
def test_a_field_is_found_however_it_is_printed(expression: str, content: str, expected: list[tuple[str, str]]) -> None:
    assert attribute_content(LOOP + "[{{ " + expression + " }}\n]{% endfor %}", content) == expected


def test_text_that_is_cut_in_two_is_attributed_to_one_field() -> None:
    template = LOOP + "{% set p = message.content.split('</t>') %}<r>{{ p[0] }}</r>{{ p[1].strip() }}|{% endfor %}"
    expected = [("<r>", ""), ("why", "content"), ("</r>", ""), ("so", "content"), ("|", "")]
    assert attribute_content(template, "why</t>\n\nso ") == expected


def test_scaffold_that_equals_a_field_stays_scaffold() -> None:
    template = LOOP + "<{{ message.role }}>hi {{ message.content }} hi{% endfor %}"
    assert attribute_content(template, "hi") == [("<user>hi ", ""), ("hi", "content"), (" hi", "")]


def test_names_keys_and_values_of_a_call() -> None:
    template = (
        LOOP + "{% for call in message.tool_calls %}{% if call.id | length != 9 %}{{ raise_exception('id') }}{% endif %}"
        "{{ call.function.name }}({% for key, value in call.function.arguments | dictsort %}{{ key }}={{ value | tojson }};"
        "{% endfor %}){% endfor %}{% endfor %}"
    )
    messages = [{"role": "assistant", "content": None, "tool_calls": [CALL]}]
    attribution = attribute(load_renderer(template), messages)
    assert cut(attribution) == [
        ("look_up", "name"),
        ("(", ""),
        ("a", "a"),
        ("=", ""),
        ("3", "a"),
        (";", ""),
        ("b", "b"),
        ('="', ""),
        ("Oslo", "b"),
        ('";)', ""),
    ]
    assert [span.field.key for span in attribution.spans] == [False, True, False, True, False]
    assert [field.path[-1] for field in attribution.absent] == ["id"]


def test_a_name_that_is_looked_up_by_an_id_belongs_to_the_call() -> None:
    template = (
        LOOP + "{% if message.role == 'tool' %}{% set found = namespace(name=message.name) %}"
        "{% for call in messages[0].tool_calls if call.id == message.tool_call_id %}"
        "{% set found.name = call.function.name %}{% endfor %}{{ found.name }}: {{ message.content }}{% endif %}{% endfor %}"
    )
    result = {"role": "tool", "tool_call_id": "abc123def", "name": "look_up", "content": "42"}
    attribution = attribute(load_renderer(template), [{"role": "assistant", "tool_calls": [CALL]}, result])
    assert cut(attribution) == [("look_up", "name"), (": ", ""), ("42", "content")]
    assert attribution.spans[0].field.path == ("messages", 0, "tool_calls", 0, "function", "name")


@pytest.mark.parametrize(("value", "printed"), [(True, "true"), (None, "null"), (-2.5, "-2.5"), ("007", '"007"')])
def test_values_of_every_type(value: Any, printed: str) -> None:
    call = {"function": {"name": "f", "arguments": {"x": value}}}
    template = "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
    attribution = attribute(load_renderer(template), [{"role": "assistant", "tool_calls": [call]}])
    assert attribution.text == '{"x": ' + printed + "}"
    assert [text for text, span in attribution.cut() if span] == ["x", printed.strip('"')]


def test_what_cannot_be_told_is_said() -> None:
    # Any mark changes the length, and without the h nothing is printed.
    template = LOOP + "{{ message.content if message.content | length == 2 and 'h' in message.content else '' }}{% endfor %}"
    attribution = attribute(load_renderer(template), [{"role": "user", "content": "hi"}])
    assert (attribution.spans, attribution.text) == ((), "hi")
    assert [field.path for field in attribution.uncertain] == [("messages", 0, "content")]


def test_any_function_can_be_asked() -> None:
    def render(messages: list[dict[str, Any]], tools: Any, add_generation_prompt: bool) -> str:
        return "".join(f"<{m['role']}>{json.dumps(m['content'], ensure_ascii=True)}" for m in messages)

    attribution = attribute(load_renderer(render), [{"role": "user", "content": 'é "x"'}])
    assert cut(attribution) == [('<user>"', ""), ('\\u00e9 \\"x\\"', "content"), ('"', "")]


def test_a_conversation_that_is_refused_raises() -> None:
    with pytest.raises(TemplateError):
        attribute(load_renderer("{{ raise_exception('no') }}"), [{"role": "user", "content": "x"}])


TURNS = (
    "{{ '^' }}{% for message in messages %}[{{ message.role }}]\n"
    "{% if message.role == 'assistant' and message.thought and loop.last %}(hm){{ message.thought }}(/hm){% endif %}"
    "{{ message.content | trim }}{% for call in message.tool_calls or [] %}(do {{ call.function.name }}){% endfor %}[.]\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant]\n(hm){% endif %}"
)


def test_what_the_assistant_wrote_begins_behind_the_prompt_and_ends_with_the_turn() -> None:
    renderer = load_renderer(TURNS)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two\n", "thought": "why"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "four"},
        {"role": "assistant", "content": "five", "thought": "why not"},
    ]
    attribution = attribute(renderer, messages)
    written = find_written(renderer, attribution, messages)
    assert [(w.message, attribution.text[w.start : w.end]) for w in written] == [
        (1, "two[.]"),
        (3, "(do look_up)[.]"),
        (5, "why not(/hm)five[.]"),
    ]


def test_a_turn_without_an_end_of_its_own_ends_with_what_begins_the_next() -> None:
    renderer = load_renderer(LOOP + "<{{ message.role }}>{{ message.content }}{% endfor %}")
    messages = [{"role": role, "content": "hi"} for role in ("user", "assistant", "user", "assistant")]
    attribution = attribute(renderer, messages)
    for stops, expected in ((("<user>", "<tool>"), ["hi<user>", "hi"]), ((), ["hi", "hi"])):
        written = find_written(renderer, attribution, messages, stops=stops)
        assert [attribution.text[one.start : one.end].removeprefix("<assistant>") for one in written] == expected


def test_tokens_follow_the_characters() -> None:
    attribution = attribute(load_renderer(LOOP + "<{{ message.content }}>{% endfor %}"), [{"role": "user", "content": "né!"}])
    offsets = [(0, 1), (1, 3), (2, 3), (3, 3), (3, 5)]
    assert [span is not None for span in attribute_tokens(attribution, offsets)] == [False, True, True, False, True]
    assert mark_tokens([(1, 3)], offsets) == [False, True, True, False, False]


# Each prints fields in another way; all of them are measured by scripts/attributions.py.
SAMPLE = (
    "Qwen-Qwen3.6-35B-A3B",
    "zai-org-GLM-5.1",
    "moonshotai-Kimi-K2.6",
    "openai-gpt-oss-120b",
    "deepseek-ai-DeepSeek-V3.1",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "Gryphe-Gemma-4-31B-StyleTune",
    "MiniMaxAI-MiniMax-M2.1",
)


@pytest.mark.parametrize("frame", [attributions.PLAIN, attributions.HARD])
@pytest.mark.parametrize("name", SAMPLE)
def test_real_templates_are_attributed_exactly(name: str, frame: str) -> None:
    source = load_source(name)
    counts = attributions.measure(source, frame)["counts"]
    assert counts["right"] >= 5
    assert set(counts) <= {"right", "absent"}


@pytest.mark.parametrize("name", ["LFM2.5-8B-A1B", "HuggingFaceTB-SmolLM3-3B", "microsoft-SchGen", "poolside-Laguna-S-2.1"])
def test_what_was_written_ends_where_a_generation_block_does(name: str) -> None:
    reports = [report for report in map(attributions.compare_masks, load_corpus(name)) if report]
    assert reports
    for report in reports:
        text = report["text"]
        ours, theirs = ([text[slice(*place)].strip() for place in report[who]] for who in ("ours", "theirs"))
        # Some blocks hold the header of the role, which the generation prompt writes.
        assert [their.endswith(our) for our, their in zip(ours, theirs, strict=True)] == [True] * len(theirs)
