"""Values that do not end as they should, prompts that have begun a call, and what is held no longer than it may. Invented."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

TAGGED = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<do {{ c.function.name }}>"
    "{% for k, v in c.function.arguments.items() %}\n<with {{ k }}>{{ v if v is string else v | tojson }}</with>{% endfor %}\n</do>"
    "{% endfor %}<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
TYPED = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<do {{ c.function.name }}>"
    "{% for k, v in c.function.arguments.items() %}\n<{{ 'text' if v is string else 'data' }} {{ k }}>{{ v if v is string else v | tojson }}"
    "</{{ 'text' if v is string else 'data' }}>{% endfor %}\n</do>"
    "{% endfor %}<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
JSON = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{% if m.reasoning_content %}[muse]\n{{ m.reasoning_content }}\n[/muse]\n\n{% endif %}"
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<call>\n"
    '{"name": {{ c.function.name | tojson }}, "arguments": {{ c.function.arguments | tojson }}}\n</call>{% endfor %}<<over>>\n'
    "{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
NOTED = (
    "{%- macro put(v) -%}{% if v is string %}'{{ v }}'{% elif v is mapping %}{ {%- for a, b in v.items() %}'{{ a }}': {{ put(b) }}"
    "{{ ', ' if not loop.last }}{% endfor -%} }{% elif v is iterable %}[{% for x in v %}{{ put(x) }}{{ ', ' if not loop.last }}{% endfor %}]"
    "{% else %}{{ v }}{% endif %}{%- endmacro -%}{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}\n<calls>\n<do={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}\n<with={{ k }}>"
    "{{ v if v is string else put(v) }}</with>{% endfor %}\n</do>\n</calls>{% endfor %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""Lists and objects as Python writes them, calls in two marks."""

TAG = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<do tool=\"{{ c.function.name }}\""
    "{% for k, v in c.function.arguments.items() %} {{ k }}=\"{{ (v if v is string else v | tojson) | replace('&', '&amp;')"
    " | replace('\"', '&quot;') }}\"{% endfor %}/>{% endfor %}"
    "<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""A call is one tag."""

SIGNS = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{% if m.reasoning_content %}⟪{{ m.reasoning_content }}⟫{% endif %}{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}«{{ c.function.arguments | tojson }} ▷ {{ c.function.name }}»{% endfor %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""Arguments stand before the name."""

TOOLS = [make_tool("find", tags="array", what="string"), make_tool("list_all")]
PROMPT = "<<assistant>>\n"


def test_a_call_with_a_list_that_lacks_its_bracket_is_whole_or_cut() -> None:
    form = analyze(TYPED)
    begun = '\n<do find>\n<data tags>["a", "b"</data>'
    whole = read_all_ways(form, f"{begun}\n</do><<over>>", TOOLS, PROMPT, "repair")
    assert (get_calls(whole), whole.incomplete) == ([("find", {"tags": ["a", "b"]})], set())
    both = read_all_ways(form, f"{begun}\n<text what>x</text>\n</do><<over>>", TOOLS, PROMPT, "repair")
    assert (get_calls(both), both.incomplete) == ([("find", {"tags": ["a", "b"], "what": "x"})], set())
    cut = read_all_ways(form, f"{begun}\n<text what>Os", TOOLS, PROMPT, "repair")
    assert (cut.calls, cut.incomplete) == ([("find", '{"tags": ["a", "b"], "what": "Os')], {0})


def test_what_goes_on_in_a_call_of_the_prompt_has_its_number() -> None:
    call = '\n<call>\n{"name": "find", "arguments": {}}\n</call>'
    prompt = PROMPT + call + '\n<call>\n{"name": "find", "arguments": {"what": "Os'
    parser = analyze(JSON).parser(TOOLS, prompt)
    deltas = [delta for piece in ("lo", '"}}\n</call>') for delta in parser.feed(piece)] + parser.finish()
    assert [delta.index for delta in deltas if delta.kind == "tool_call"] == [0] * len(deltas)
    assert "".join(delta.text for delta in deltas) == '{"what": "Oslo"}'


def test_nothing_of_a_thought_in_the_prompt_comes_again() -> None:
    parser = analyze(JSON).parser(TOOLS, f"{PROMPT}[muse]\nLet me th")
    deltas = [delta for piece in ("i", "nk so", "\n[/muse]\n\nHi") for delta in parser.feed(piece)] + parser.finish()
    assert "".join(delta.text for delta in deltas if delta.kind == "reasoning") == "ink so"


@pytest.mark.parametrize("size", [40, 4000])
def test_a_call_by_its_shape_does_not_depend_on_the_split(size: int) -> None:
    text = '{"parameters": {"what": "%s",}, "tool": "find"}' % ("word " * (size // 5))
    for written in (text, f"<call>\n{text}\n</call>"):
        read_all_ways(analyze(JSON), written, TOOLS, PROMPT)


@pytest.mark.parametrize("value", ["# Report\n", "<html>", "- item", "12 monkeys ", "Words. "])
def test_a_value_that_waits_for_its_type_is_not_lost_where_the_output_is_cut(value: str) -> None:
    written = value + "many words " * 50
    found = read_all_ways(analyze(TAGGED), f"\n<do find>\n<with note>{written}", None, PROMPT)
    assert "many words " * 50 in found.calls[0][1]


def test_a_letter_that_numbers_have_is_text_where_no_digit_stands_before_it() -> None:
    found = read_all_ways(analyze(TAGGED), "\n<do find>\n<with note>e", None, PROMPT)
    assert found.calls == [("find", '{"note": "e')]


def test_a_long_word_behind_a_mark_is_not_held() -> None:
    parser = analyze(JSON).parser(TOOLS, PROMPT)
    came = sum(len(delta.text) for _ in range(100) for delta in parser.feed("x" * 10))
    parser = analyze(JSON).parser(TOOLS, PROMPT)
    parser.feed("\n<call>")
    behind = sum(len(delta.text) for _ in range(100) for delta in parser.feed("x" * 10))
    assert came == 1000
    assert behind > 500


@pytest.mark.parametrize("value", ['["a", "b"]', "['a', 'b']"])
@pytest.mark.parametrize("behind", ["</do>\n</calls>", "</do>\n</tool_calls>", "</do>\n\nDone.", "</do>"])
def test_a_list_is_whole_whatever_follows_the_end_of_its_call(value: str, behind: str) -> None:
    found = read_all_ways(analyze(NOTED), f"<calls>\n<do=find>\n<with=tags>{value}</with>\n{behind}", TOOLS, PROMPT, "repair")
    assert (get_calls(found), found.incomplete) == ([("find", {"tags": ["a", "b"]})], set())
    assert (found.content or "").strip() == ("Done." if "Done" in behind else "")


@pytest.mark.parametrize("value", ['["a", "b"]', "['a', 'b']"])
@pytest.mark.parametrize("behind", ["<with=what>x</with>\n</do>\n</calls>", "\n<with=what>x</with>\n</do>\n</calls>", "</do>\n</calls>"])
def test_the_mark_behind_a_list_may_be_missing(value: str, behind: str) -> None:
    found = read_all_ways(analyze(NOTED), f"<calls>\n<do=find>\n<with=tags>{value}{behind}<<over>>", TOOLS, PROMPT, "repair")
    assert get_calls(found) == [("find", {"tags": ["a", "b"], **({"what": "x"} if "what" in behind else {})})]
    assert not found.incomplete


@pytest.mark.parametrize("end", ["/>", " />", "></do>"])
def test_a_tag_that_closes_itself_may_be_closed_otherwise(end: str) -> None:
    text = f'<do tool="find" what="a/b" tags="[1]"{end}\n<do tool="find" what="x"{end}\nDone.<<over>>'
    found = read_all_ways(analyze(TAG), text, TOOLS, PROMPT)
    assert get_calls(found) == [("find", {"what": "a/b", "tags": [1]}), ("find", {"what": "x"})]
    assert ((found.content or "").strip(), found.incomplete) == ("Done.", set())


def test_what_ends_reasoning_is_no_text_where_the_call_behind_it_is_none() -> None:
    found = read_all_ways(analyze(SIGNS), '⟪Hm.⟫«{"what": "x"} and find<<over>>', TOOLS, PROMPT)
    assert (found.reasoning, found.content, found.calls) == ("Hm.", '«{"what": "x"} and find', [])


def test_a_tool_that_is_not_there_is_only_shown_in_a_fence() -> None:
    text = 'For example:\n\n```\n<call>\n{"name": "tool_name", "arguments": {"what": "x"}}\n</call>\n```'
    assert read_all_ways(analyze(JSON), text, TOOLS, PROMPT).content == text
    made = read_all_ways(analyze(JSON), text.replace("tool_name", "find"), TOOLS, PROMPT)
    assert get_calls(made) == [("find", {"what": "x"})]
