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


MARKED = FRAME % (
    "{%- if m.reasoning_content -%}<réflexion>{{ m.reasoning_content }}</réflexion>{{ '\\n' }}{%- endif -%}{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] -%}{{ '\\n' }}<do it=\"{{ c.function.name }}\">{% for k, v in c.function.arguments.items() %}{{ '\\n' }}  "
    "<set key=\"{{ k }}\">{{ v if v is string else v | tojson }}</set>{% endfor %}{{ '\\n' }}</do>{%- endfor -%}<<over>>"
)

FED = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '<|also|>' if not loop.first }}<|feed|>{{ c.function.arguments | tojson }}"
    "<|into|>{{ c.function.name }}{{ '<|go|>' if loop.last }}{% endfor %}<<over>>"
)
"""Arguments stand before names, and a mark between calls."""

ARROWS = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\n' }}{{ loop.index }}. `{{ c.function.name }}` ← "
    "{{ c.function.arguments | tojson }}{% endfor %}{{ '\\n' }}<<over>>"
)

DOCUMENT = FRAME % (
    "{%- if m.reasoning_content -%}: <<'THINK'{{ '\\n' }}{{ m.reasoning_content }}{{ '\\n' }}THINK{{ '\\n' }}{%- endif -%}"
    "{%- if m.content -%}cat <<'REPLY'{{ '\\n' }}{{ m.content }}{{ '\\n' }}REPLY{{ '\\n' }}{%- endif -%}exit{{ '\\n' }}"
)
"""A word in capitals, in a line of its own, ends a text."""

SPOKEN = FRAME % (
    "{%- if m.reasoning_content -%}{{ m.reasoning_content }}{{ '\\n' }}{%- endif -%}"
    "{%- if m.content -%}<say>{{ m.content }}</say>{{ '\\n' }}{%- endif -%}<<over>>"
)
"""A text without marks is a thought."""

WRAPPED = FRAME % (
    "{%- if m.content and not m.tool_calls -%}<|text|><![[{{ m.content }}]]></text><<over>>{%- endif -%}"
    "{%- if m.tool_calls -%}<|act|>[{%- for c in m.tool_calls -%}{\"n\": \"{{ loop.index0 }}\", \"tool\": \"{{ c.function.name }}\", \"with\": "
    "{{ c.function.arguments | tojson }}}{{ ', ' if not loop.last }}{%- endfor -%}]<|/act|><<over>>{%- endif -%}"
)
"""Content is written alone, between marks."""

LINES = FRAME % (
    "{%- if m.content %}| {{ m.content }}{{ '\\n' }}{% endif -%}{%- for c in m.tool_calls or [] %}! {{ c.function.name }}{{ '\\n' }}"
    "{% for k, v in c.function.arguments.items() %}. {{ k }}: {{ v | tojson }}{{ '\\n' }}{% endfor %}{% endfor -%}{{ '\\n' }}"
)
"""An empty line ends a turn."""


@pytest.mark.parametrize("end", ["</reflexion>", "</REFLEXION>", "</réflexon>"])
def test_a_mark_may_lack_an_accent(end: str) -> None:
    found = read(MARKED, f"<réflexion>So it is.{end}\nBoth at once.<<over>>")
    assert (found.reasoning, (found.content or "").strip()) == ("So it is.", "Both at once.")


def test_layout_before_an_argument_is_none_of_the_text_whose_end_is_missing() -> None:
    text = '\n<do it="find_route">\n  <set key="start">Oslo\n  <set key="legs">2</set>\n</do><<over>>'
    assert get_calls(read(MARKED, text)) == [("find_route", {"start": "Oslo", "legs": 2})]


def test_the_mark_between_calls_may_be_missing() -> None:
    found = read(FED, 'Go.<|feed|>{"legs": 1}<|into|>find_route<|feed|>{}<|into|>find_route<|go|><<over>>')
    assert (found.content, get_calls(found)) == ("Go.", [("find_route", {"legs": 1}), ("find_route", {})])


@pytest.mark.parametrize("sign", [" <- ", " → ", ": ", " := "])
def test_other_signs_may_stand_between_a_name_and_its_arguments(sign: str) -> None:
    found = read(ARROWS, f'\n1. `find_route`{sign}{{"legs": 2}}\n<<over>>')
    assert (found.content, get_calls(found)) == (None, [("find_route", {"legs": 2})])
    prose = "1. `find_route` finds routes. {legs} is a number."
    assert read(ARROWS, f"{prose}\n<<over>>")[1:3] == (prose, [])


def test_a_line_that_ends_a_thought_whatever_follows_ends_it() -> None:
    found = read(DOCUMENT, ": <<'THINK'\nI THINK\nso.\nTHINK\necho \"Hello!\"\nexit\n")
    assert (found.reasoning, (found.content or "").strip()) == ("I THINK\nso.", 'echo "Hello!"')


def test_a_thought_may_speak_of_a_mark_between_backquotes() -> None:
    found = read(SPOKEN, "The answer goes into `<say>`, not into <p>.\n<say>Yes.</say>\n<<over>>")
    assert (found.reasoning, found.content) == ("The answer goes into `<say>`, not into <p>.", "Yes.")
    found = read(SPOKEN, "That is `x`\n<say>`y` is it.</say>\n<<over>>")
    assert (found.reasoning, found.content) == ("That is `x`", "`y` is it.")


def test_what_ends_content_ends_it_before_calls_that_are_told_by_their_shape() -> None:
    found = read(WRAPPED, '<|text|><![[Go.]]></text><|act|>\n{"tool": "find_route", "with": {"legs": 2}}\n<|/act|><<over>>')
    assert (found.content, get_calls(found)) == ("Go.", [("find_route", {"legs": 2})])


def test_the_first_mark_of_what_ends_an_answer_may_be_missing() -> None:
    assert read(WRAPPED, "<|text|><![[Go.</text><<over>>")[1:3] == ("Go.", [])


def test_an_empty_line_ends_a_turn_behind_the_name_of_a_tool() -> None:
    found = read(LINES, "! find_route\n. legs: 2\n! find_route\n\n")
    assert (found.content, get_calls(found)) == (None, [("find_route", {"legs": 2}), ("find_route", {})])


@pytest.mark.parametrize("ends", ["</set>\n</set>\n</do>", "</set>\n</set>\n</do>\n</do>"])
def test_each_end_of_a_call_may_come_twice(ends: str) -> None:
    found = read(MARKED, f'\n<do it="find_route">\n  <set key="legs">2{ends}<<over>>')
    assert (found.content, get_calls(found)) == (None, [("find_route", {"legs": 2})])


@pytest.mark.parametrize("end", ["", "<<over>>", "<|/act|><<over>>"])
def test_a_list_with_a_comma_too_many_may_lack_the_mark_behind_it(end: str) -> None:
    found = read(WRAPPED, f'<|act|>[{{"n": "0", "tool": "find_route", "with": {{"legs": 2}}}},\n]{end}')
    assert (found.content, get_calls(found)) == (None, [("find_route", {"legs": 2})])


BLOCKS = FRAME % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\n' }}<do>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    "{{ '\\n  ' ~ k }}:{% if v is string and '\\n' in v %} |-{% for line in v.split('\\n') %}{{ '\\n    ' ~ line }}{% endfor %}"
    "{% elif v is iterable and v is not string and v is not mapping and v %}{% for x in v %}{{ '\\n    - ' ~ (x | tojson) }}{% endfor %}"
    "{% else %} {{ v | tojson }}{% endif %}{% endfor %}{{ '\\n' }}</do>{% endfor %}<<over>>"
)
"""A block of lines and a list begin with more than the other values."""


def test_a_text_without_its_quotes_is_no_list_though_one_begins_with_less() -> None:
    text = "\n<do>find_route\n  start: São Paulo\n  legs: 2\n  stops:\n    - \"a\"\n</do><<over>>"
    assert get_calls(read(BLOCKS, text)) == [("find_route", {"start": "São Paulo", "legs": 2, "stops": ["a"]})]
