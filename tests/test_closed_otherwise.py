"""Marks that are closed otherwise, or hold nothing, and values that are written otherwise. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways
from test_slips import WRAPPER

TOOLS = [make_tool("look", city="string", days="integer"), make_tool("now")]
LOOK: tuple[str, Any] = ("look", {"city": "Oslo", "days": 2})
NOW: tuple[str, Any] = ("now", {})

NAMED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<do:{{ c.function.name }}{% for k, v in c.function.arguments.items() %} {{ k }}"
    "{{ '=\"' ~ (v | e) ~ '\"' if v is string else '.json=\"' ~ (v | tojson | e) ~ '\"' }}{% endfor %}/>{% endfor -%}"
)
"""A tag with the name of the tool in it, which closes itself."""

ONE, TWO = '<do:look city="Oslo" days.json="2"', "<do:now"


@pytest.mark.parametrize(
    "written",
    [
        f"{ONE}></do:look>{TWO}></do:now>",
        f"{ONE}></do:look>\n{TWO}/>",
        f"{ONE}/>\n{TWO}></do:now>",
        f"{ONE} />{TWO} />",
    ],
)
def test_a_tag_with_the_name_of_the_tool_may_be_closed_by_another_one(written: str) -> None:
    found = read_all_ways(analyze(NAMED), f"Yes.\n{written}<<over>>", TOOLS)
    assert (found.content, get_calls(found)) == ("Yes.\n", [LOOK, NOW])
    assert set(found.recoveries) == {"tag closed otherwise"}


def test_a_tag_may_not_be_closed_at_all() -> None:
    found = read_all_ways(analyze(NAMED), f"{ONE}><<over>>", TOOLS)
    assert (found.content, get_calls(found)) == (None, [LOOK])


@pytest.mark.parametrize("end", [">", " >", "/>"])
def test_the_end_of_a_tag_has_a_blank_before_it_or_not(end: str) -> None:
    parted = analyze(NAMED.replace("/>{% endfor", " />{% endfor"))
    found = read_all_ways(parted, f'<do:look days.json="2" city="Oslo"{end}\n<<over>>', TOOLS)
    assert (found.content, get_calls(found)) == (None, [("look", {"days": 2, "city": "Oslo"})])


SECTIONS = """\
{%- for m in messages -%}
<|turn|>{{ m.role }}<|says|>
{%- if m.role == 'assistant' -%}
{%- if m.reasoning_content %}<|plan|>{{ m.reasoning_content }}<|/plan|>{% endif -%}
{%- if m.content %}<|answer|>{{ m.content }}<|/answer|>{% endif -%}
{%- if m.tool_calls %}<|acts|>[{% for c in m.tool_calls %}{"do": "{{ c.function.name }}", "with": {{ c.function.arguments | tojson }}}
{{- ', ' if not loop.last }}{% endfor %}]<|/acts|>{% endif -%}
{%- else %}{{ m.content }}{% endif -%}
<|over|>
{%- endfor -%}
{%- if add_generation_prompt %}<|turn|>assistant<|says|>{% endif -%}
"""
"""Each part of a turn between marks of its own, the answer before the calls."""


@pytest.mark.parametrize("empty", ["<|acts|>[]<|/acts|>", "<|acts|><|/acts|>", "<|acts|>[]<|/acts|>\n"])
def test_a_section_without_calls_is_none_of_the_answer_behind_it(empty: str) -> None:
    for thought, plan in (("", None), ("<|plan|>No tool.<|/plan|>", "No tool.")):
        found = read_all_ways(analyze(SECTIONS), f"{thought}{empty}<|answer|>I know that.<|/answer|><|over|>", TOOLS)
        assert (found.reasoning, found.content, found.calls) == (plan, "I know that.", [])


ARGUMENTS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}[CALL]{{ c.function.name }}[WITH]"
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}{% endfor -%}"
)
"""Nothing ends a call but what follows it."""


@pytest.mark.parametrize("behind", ["", "[CALL]now[WITH]{}"])
def test_arguments_may_stand_in_a_string_that_nothing_follows(behind: str) -> None:
    text = f'[CALL]look[WITH]"{{\\"city\\": \\"Oslo\\", \\"days\\": 2}}"{behind}<<over>>'
    found = read_all_ways(analyze(ARGUMENTS), text, TOOLS)
    assert (found.content, get_calls(found)) == (None, [LOOK, NOW][: 1 + bool(behind)])
    assert found.recoveries == ["arguments in a string"]


WHOLE = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<act f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    "<arg={{ k }}>{{ v if v is string else v | tojson }}</arg>{% endfor %}</act>{% endfor -%}"
)


@pytest.mark.parametrize(("written", "value"), [("2.0", 2), ("-3.00", -3), ("2.5", "2.5"), ("2e0", 2), ("1e400", "1e400")])
def test_a_whole_number_is_an_integer_however_it_is_written(written: str, value: Any) -> None:
    """JSON Schema validation (draft 2020-12, section 4.2.3 of the core): 1.0 is one, too."""
    found = read_all_ways(analyze(WHOLE), f"<act f=look><arg=days>{written}</arg></act><<over>>", TOOLS)
    assert get_calls(found) == [("look", {"days": value})]
