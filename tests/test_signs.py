"""Single signs that a model drops or doubles, in marks of every kind, and marks that it mistypes. The templates are invented."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

TEMPLATE = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' %}OPEN assistant CLOSE
{% if m.reasoning_content %}OPEN muse CLOSE
{{ m.reasoning_content }}
OPEN /muse CLOSE
{% endif -%}
{%- if m.content %}OPEN answer CLOSE
{{ m.content }}
OPEN /answer CLOSE
{% endif -%}
{%- for c in m.tool_calls or [] %}OPEN deed CLOSE{{ c.id }}OPEN doing CLOSE{{ c.function.name }}OPEN with CLOSE
{{- c.function.arguments | tojson }}OPEN /deed CLOSE
{% endfor -%}
OPEN over CLOSE
{% else %}{{ "OPEN " ~ m.role ~ " CLOSE" }}{{ m.content }}
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}OPEN assistant CLOSE
{% endif -%}
"""
SHAPES = [("<|", "|>"), ("${", "}"), ("\\begin{", "}"), ("(:", ":)"), ("::", "::"), ("[[", "]]"), ("⟦", "⟧"), ("---", "---")]
TOOLS = [make_tool("find_route", start="string", legs="integer")]
ROUTE = ("find_route", {"start": "Oslo", "legs": 2})
TURN = """\
OPEN muse CLOSE
Hm.
OPEN /muse CLOSE
OPEN answer CLOSE
Here.
OPEN /answer CLOSE
OPEN deed CLOSEcall_7OPEN doing CLOSEfind_routeOPEN with CLOSE{"start": "Oslo", "legs": 2}OPEN /deed CLOSE
OPEN over CLOSE
"""


def dress(text: str, signs: tuple[str, str]) -> str:
    opening, closing = signs
    return text.replace("OPEN ", opening).replace(" CLOSE", closing)


@pytest.mark.parametrize("signs", SHAPES)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("OPEN deed CLOSE", "OPEN deeed CLOSE"),
        ("OPEN doing CLOSE", "OPEN doiing CLOSE"),
        ("OPEN doing CLOSE", "OPEN doing CLOSEOPEN doing CLOSE"),
        ("OPEN with CLOSE", "OPEN with CLOSEOPEN with CLOSE"),
        ("OPEN /answer CLOSE\n", "OPEN /answr CLOSE\n"),
        ("OPEN /answer CLOSE\n", "OPEN /ANSWER CLOSE\n"),
        ("OPEN over CLOSE", "OPEN overr CLOSE"),
        ("OPEN /muse CLOSE\nOPEN answer CLOSE\n", 2 * "OPEN /muse CLOSE\nOPEN answer CLOSE\n"),
    ],
)
def test_a_mark_that_is_mistyped_or_doubled_is_that_mark(signs: tuple[str, str], written: str, meant: str) -> None:
    format = analyze(dress(TEMPLATE, signs))
    text = TURN if "/answer" not in written else TURN[: TURN.index("OPEN deed")] + "OPEN over CLOSE\n"
    assert format.verdict.proven
    assert written in text
    found = read_all_ways(format, dress(text.replace(written, meant), signs), TOOLS)
    assert (found.reasoning, (found.content or "").strip()) == ("Hm.", "Here.")
    assert get_calls(found) == ([ROUTE] if "deed" in text else [])


@pytest.mark.parametrize("signs", SHAPES)
def test_the_last_mark_may_lack_its_last_sign(signs: tuple[str, str]) -> None:
    found = read_all_ways(analyze(dress(TEMPLATE, signs)), f"{dress(TURN, signs).strip()[:-1]}\n", TOOLS)
    assert (found.content, get_calls(found)) == ("Here.", [ROUTE])


@pytest.mark.parametrize("signs", SHAPES)
def test_what_ends_a_thought_may_lack_its_first_sign(signs: tuple[str, str]) -> None:
    written = dress(TURN, signs).replace(dress("OPEN /muse CLOSE", signs), dress("OPEN /muse CLOSE", signs)[1:])
    found = read_all_ways(analyze(dress(TEMPLATE, signs)), written, TOOLS)
    assert (found.reasoning, found.content, get_calls(found)) == ("Hm.", "Here.", [ROUTE])


ENVELOPE = """\
{%- for m in messages -%}
<<{{ m.role }}>>
{{- m.content or "" }}
{%- for c in m.tool_calls or [] -%}
<deed>{"id": "{{ c.id }}", "call": {"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}}</deed>
{%- endfor -%}<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


ATTRIBUTES = """\
{%- for m in messages -%}
<<{{ m.role }}>>
{{- m.content or "" }}
{%- for c in m.tool_calls or [] %}#do#{{ c.function.name }} k="{{ c.id }}"#
{%- for k, v in c.function.arguments.items() %}[{{ k }}]="{{ (v if v is string else v | tojson) | replace('"', '&quot;') }}"{% endfor -%}
#od#{% endfor -%}<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


@pytest.mark.parametrize(
    ("template", "written"),
    [
        (ENVELOPE, '<deed>{"id": "call_7", "call": {"name": "", "call": {"name": "find_route", "arguments": {"start": "Oslo", "legs": 2}}}</deed>'),
        (ENVELOPE, '<deed>{"id": "call_7", "call": {"name": "find_route{"start": "Oslo", "legs": 2}}}</deed>'),
        (ENVELOPE, '<deed>{"id": call_7", "call": {"name": "find_route", "arguments": {"start": "Oslo", "legs": 2}}}</deed>'),
        (ATTRIBUTES, '#do#find_route k=call_7"#[start]="Oslo"[legs]="2"#od#'),
        (ATTRIBUTES, '#do#find_route k="call_7#[start]="Oslo"[legs]="2"#od#'),
        (ATTRIBUTES, '#do#find_route k="call_7"#[start="Oslo"[legs="2"#od#'),
    ],
)
def test_a_text_between_fields_may_stand_twice_be_missing_or_lack_a_sign(template: str, written: str) -> None:
    found = read_all_ways(analyze(template), f"Yes.{written}<<over>>", TOOLS)
    assert (found.content, get_calls(found), found.ids) == ("Yes.", [ROUTE], ["call_7"])


UNCERTAIN = ["#do#call_7::/x::find_it#[start]=", "#do#find_routek=\"call_7\"#[start]=\"Oslo\"#od#"]


@pytest.mark.parametrize("written", UNCERTAIN)
def test_no_tool_that_the_request_does_not_have_is_called_for_a_sign_that_is_missing(written: str) -> None:
    found = read_all_ways(analyze(ATTRIBUTES), f"Yes. {written}<<over>>", TOOLS)
    assert (found.content, found.calls) == (f"Yes. {written}", [])


def test_an_answer_may_end_with_a_mark_that_is_like_a_short_one_of_the_format() -> None:
    template = TEMPLATE.replace("OPEN over CLOSE", "OPEN eot CLOSE")
    format = analyze(dress(template, ("<", ">")))
    text = "<answer>\nAs in <eo>\n</answer>\n<eot>\n"
    assert read_all_ways(format, text, TOOLS).content == "As in <eo>"


def test_what_stands_behind_a_mark_without_its_last_sign_is_none_of_it() -> None:
    written = dress(TURN, ("<|", "|>")).replace("<|deed|>call_7", "<|deed| call_7")
    found = read_all_ways(analyze(dress(TEMPLATE, ("<|", "|>"))), written, TOOLS)
    assert found.ids == ["call_7"] or "call_7" in (found.content or "")


LABELS = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{%- if m.reasoning_content %}Thought: {{ m.reasoning_content }}
{% endif %}{% if m.content %}Answer: {{ m.content }}
{% endif %}
{%- for c in m.tool_calls or [] %}{"{{ c.function.name }}": {{ c.function.arguments | tojson }}}
{% endfor %}<over>
{% else %}{{ m.role }}: {{ m.content }}
{% endif -%}
{%- endfor -%}
"""


@pytest.mark.parametrize("label", ["ANSWER: ", "answer: ", "Answer: \nAnswer: "])
def test_a_label_may_have_other_letters_or_come_twice(label: str) -> None:
    found = read_all_ways(analyze(LABELS), f"Thought: Hm.\n{label}It is far.\n<over>\n", TOOLS)
    assert found[:3] == ("Hm.", "It is far.", [])


@pytest.mark.parametrize(
    "calls",
    [
        '{"find_route": {"start": "Oslo", "legs": 2}}\n{"}\n{"find_route": {"start": "Oslo", "legs": 2}}\n',
        '{"find_route": {"start": "Oslo", "legs": 2}}\n{"find_route: {"start": "Oslo", "legs": 2}}\n',
        '{"find_route": {"start": "Oslo", "legs": 2}}\n{"find_route": ": {"start": "Oslo", "legs": 2}}\n',
    ],
)
def test_signs_around_a_name_may_stand_twice_or_be_missing(calls: str) -> None:
    found = read_all_ways(analyze(LABELS), f"{calls}<over>\n", TOOLS)
    assert (found.content, get_calls(found)) == (None, [ROUTE, ROUTE])


ROWS = """\
{%- for m in messages -%}
◁{{ m.role }}
{%- if m.reasoning_content %} ⟦{{ m.reasoning_content }}⟧{% endif %} {{ m.content or '' }}
{%- for c in m.tool_calls or [] %} ⟪{{ c.function.name }}·{{ c.id }}⟫ {% for k, v in c.function.arguments.items() -%}
{{ k }} ⇐ {{ v | tojson }}{{ ' ⦂ ' if not loop.last }}{% endfor %} ⟪⟫
{%- endfor %} ∎
{% endfor -%}
{%- if add_generation_prompt %}◁assistant{% endif -%}
"""


@pytest.mark.parametrize(
    "written",
    [
        ' ⟦Hm.⟧ I look.\n⟪find_route·call_7⟫\n  start ⇐ "Oslo" ⦂\n  legs ⇐ 2\n⟪⟫\n∎',
        ' ⟦Hm.⟧ I look.⟪find_route·call_7⟫ start ⇐ "Oslo" ⦂ legs ⇐ 2 ∎',
        ' ⟦Hm.⟧ I look. ⟪find_route·⟫ start ⇐ "Oslo" ⦂ legs ⇐ 2 ⟪⟫ ∎',
    ],
)
def test_a_sign_that_is_rare_may_have_any_layout(written: str) -> None:
    found = read_all_ways(analyze(ROWS), written, TOOLS)
    assert ((found.reasoning or "").strip(), (found.content or "").strip(), get_calls(found)) == ("Hm.", "I look.", [ROUTE])


CLOSED = """\
{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}<run:{{ c.id }}>{"{{ c.function.name }}": {{ c.function.arguments | tojson }}}</run>{% endfor -%}
<|end|>{%- endfor -%}{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""


def test_what_closes_a_call_may_have_its_id() -> None:
    found = read_all_ways(analyze(CLOSED), 'Yes.<run:c_1>{"find_route": {"start": "Oslo", "legs": 2}}</run:c_1><|end|>', TOOLS)
    assert (found.content, get_calls(found), found.ids) == ("Yes.", [ROUTE], ["c_1"])
