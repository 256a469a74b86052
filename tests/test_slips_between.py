"""Slips between one field and the next: marks of words, quotes of several signs, and layout between calls. The templates are invented."""

from __future__ import annotations

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

FRAME = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n%s{%% endfor -%%}{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)
TYPES = {"start": "string", "legs": "integer", "late": "boolean", "stops": "array"}
TOOL = make_tool("find_route", **TYPES)

WORDS = FRAME % (
    "{%- if m.reasoning_content -%}BEGIN_THOUGHT\n {{ m.reasoning_content }} END_THOUGHT\n{% endif -%}{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] -%}BEGIN_CALL {{ c.function.name }}{{ c.function.arguments | tojson }} END_CALL{%- endfor -%}<<over>>"
)
"""Marks that are words, as no sentence has them."""

TAGS = FRAME % (
    "{{ m.content or '' }}{% if m.tool_calls %}{{ '\\n' }}[all]{% for c in m.tool_calls %}{{ '\\n' }}[@{{ c.function.name }} n={{ c.id }}]\n"
    "[with]{{ c.function.arguments | tojson }}[/with]\n[/@{{ c.function.name }}]{% endfor %}{{ '\\n' }}[/all]{% endif %}<<over>>"
)

NOTES = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}/* step:v1 */{\"function\": {\"name\": \"{{ c.function.name }}\", \"payload\": "
    "{{ c.function.arguments | tojson }}}}/* end step:v1 */{{ '\\n\\n' if not loop.last }}{% endfor %}<!--over:v1-->"
)
"""What begins a call and what ends it are alike at the end."""

ITEMS = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}/* step */@{{ c.function.name }}\n[{% for k, v in c.function.arguments.items() %}"
    "{\"key\": \"{{ k }}\", \"value\": {{ v | tojson }}}{{ ', ' if not loop.last }}{% endfor %}]/* end step */{% endfor %}<<over>>"
)

SECTIONS = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\n' }}#do name=\"{{ c.function.name }}\"#\n{% for k, v in c.function.arguments.items() %}"
    "- {{ k }}={% if v is string %}%!RAW[{{ v }}]]>{% else %}{{ v | tojson }}{% endif %}{{ '\\n' }}{% endfor %}#/do#{% endfor %}<<over>>"
)
"""Texts have quotes of several signs, other values none."""

DOUBLED = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\n' }}[[do {{ c.function.name }}]][[with]]{% for k, v in c.function.arguments.items() %}"
    "[[{{ k }}]]{{ v if v is string else v | tojson }}[[/{{ k }}]]{% endfor %}[[/with]][[/do]]{% endfor %}<<over>>"
)


def read(template: str, text: str) -> Reading:
    format = analyze(template)
    assert format.verdict.proven
    return read_all_ways(format, text, [TOOL], "<<assistant>>\n")


@pytest.mark.parametrize("end", ["end_thought\n", "END_THOUHT\n", "END_THOOUGHT\n", "END_THOUHT "])
def test_a_word_that_stands_in_no_sentence_may_be_mistyped(end: str) -> None:
    found = read(WORDS, f"BEGIN_THOUGHT\n So it is. {end}Both at once.<<over>>")
    assert ((found.reasoning or "").strip(), (found.content or "").strip()) == ("So it is.", "Both at once.")


@pytest.mark.parametrize("between", ["", " ", "\n\n"])
def test_calls_whose_first_mark_is_short_may_stand_closer(between: str) -> None:
    calls = [f'[@find_route n=call0000{n}]\n[with]{{"legs": {n}}}[/with]\n[/@find_route]' for n in (1, 2)]
    found = read(TAGS, f"Go.\n[all]\n{between.join(calls)}\n[/all]<<over>>")
    assert (found.content, get_calls(found)) == ("Go.", [("find_route", {"legs": 1}), ("find_route", {"legs": 2})])


@pytest.mark.parametrize("word", ["FUNCTION", "funcion", "functions"])
def test_one_mark_is_not_two_with_nothing_between_them(word: str) -> None:
    calls = [f'/* step:v1 */{{"{key}": {{"name": "find_route", "payload": {{"legs": 2}}}}}}/* end step:v1 */' for key in ("function", word)]
    found = read(NOTES, f"Go.{calls[0]}\n\n{calls[1]}<!--over:v1-->")
    assert (found.content, get_calls(found)) == ("Go.", [("find_route", {"legs": 2})] * 2)


@pytest.mark.parametrize("key", ["KEY", "keyy", "k"])
def test_an_object_of_the_format_is_none_of_arguments(key: str) -> None:
    """No argument is made of a word that the tool does not know and that may be one of the format."""
    text = f'/* step */@find_route\n[{{"{key}": "start", "value": "Oslo"}}, {{"key": "legs", "value": 2}}]/* end step */'
    found = read(ITEMS, f"{text}<<over>>")
    assert all(arguments == {"start": "Oslo", "legs": 2} for _, arguments in get_calls(found))
    assert found.calls or found.content == text


@pytest.mark.parametrize("quote", ["%!raw[", "%!RAWW[", "%!RW["])
def test_a_quote_of_several_signs_may_be_mistyped_where_other_values_have_none(quote: str) -> None:
    found = read(SECTIONS, f'\n#do name="find_route"#\n- start={quote}Oslo]]>\n- legs=2\n#/do#<<over>>')
    assert get_calls(found) == [("find_route", {"start": "Oslo", "legs": 2})]


def test_the_last_bracket_of_a_doubled_one_may_be_missing_before_the_next_mark() -> None:
    found = read(DOUBLED, "\n[[do find_route]][[with]][[start]]Oslo[[/start]][[late]]true[[/late][[/with]][[/do]]<<over>>")
    assert get_calls(found) == [("find_route", {"start": "Oslo", "late": True})]
