"""Marks in another spelling than the template's, marks of other formats, and slips around JSON. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, make_call, make_tool, read, read_all_ways, render_turn

FRAME = """\
{%%- for m in messages -%%}
<<{{ m.role }}>>
{%%- if m.reasoning_content %%}%(muse)s{{ m.reasoning_content }}%(mused)s{%% endif -%%}
{{ m.content or "" }}
{%%- for c in m.tool_calls or [] %%}%(act)s{{ c.function.name }}%(named)s
{%%- for k, v in c.function.arguments.items() %%}%(key)s{{ k }}%(value)s{{ v if v is string else v | tojson }}%(close)s
{%%- endfor %%}%(acted)s{%% endfor -%%}
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

SPELLINGS: dict[str, tuple[dict[str, str], tuple[str, str]]] = {
    "a word before": (
        {"act": "<ox_do_act>", "key": "<ox_of>", "value": "</ox_of><ox_is>", "close": "</ox_is>", "acted": "</ox_do_act>"},
        ("ox_", ""),
    ),
    "a word behind": (
        {"act": "<act:v2>", "key": "<of:v2>", "value": "</of:v2><is:v2>", "close": "</is:v2>", "acted": "</act:v2>"},
        (":v2", ""),
    ),
    "a word between signs": (
        {"act": '<|OX|act name="', "key": '"><|OX|of key="', "value": '">', "close": "</|OX|of>", "acted": "</|OX|act>"},
        ("|OX|", ""),
    ),
    "signs beyond ASCII": (
        {"act": "<｜act▁now｜>", "key": "<｜of｜>", "value": "<｜is｜>", "close": "<｜so｜>", "acted": "<｜act▁over｜>"},
        ("｜", "|"),
    ),
    "a mark before each": (
        {"act": ")<ox>(<act>", "key": ")<ox>(<of>", "value": ")<ox>(<is>", "close": ")<ox>(</is>", "acted": ")<ox>(</act>"},
        (")<ox>(", ""),
    ),
}

CHANGED: dict[str, tuple[dict[str, str], list[tuple[str, str]]]] = {
    "in capitals": (
        {"act": "<act>", "key": "<of>", "value": "</of><is>", "close": "</is>", "acted": "</act>"},
        [("<act>", "<ACT>"), ("</act>", "</ACT>"), ("of>", "OF>"), ("is>", "IS>")],
    ),
    "each word with a capital": (
        {"act": "<|do:act|>", "key": "<|of|>", "value": "<|is|>", "close": "<|so|>", "acted": "<|act:done|>"},
        [("do:act", "Do:Act"), ("act:done", "Act:Done"), ("of|", "Of|"), ("is|", "Is|"), ("so|", "So|")],
    ),
    "brackets beyond ASCII": (
        {"act": "【act】", "key": "‹of›", "value": "‹/of›‹is›", "close": "‹/is›", "acted": "【/act】"},
        [("【", "["), ("】", "]"), ("‹", "<"), ("›", ">")],
    ),
    "signs in brackets": (
        {"act": "<|act|>", "key": "<|of|>", "value": "<|is|>", "close": "<|so|>", "acted": "<|/act|>"},
        [("<|", "<"), ("|>", ">"), ("<over>", "<|over|>")],
    ),
    "blanks in brackets": (
        {"act": "[[act]]", "key": "[[of]]", "value": "[[is]]", "close": "[[so]]", "acted": "[[/act]]"},
        [("[[", "[[ "), ("]]", " ]]")],
    ),
    "the attribute of a name": (
        {"act": '<act tool="', "named": '">', "key": '<of field="', "value": '">', "close": "</of>", "acted": "</act>"},
        [("tool=", "name="), ("field=", "name=")],
    ),
    "an attribute for a value": (
        {"act": "<act=", "named": ">", "key": "<of=", "value": ">", "close": "</of>", "acted": "</act>"},
        [("<act=pin", '<act name="pin"'), ("<act=hang", '<act name="hang"')]
        + [(f"<of={key}", f'<of name="{key}"') for key in ("note", "days")],
    ),
    "a value for an attribute": (
        {"act": '<act name="', "named": '">', "key": '<of name="', "value": '">', "close": "</of>", "acted": "</act>"},
        [(' name="', "="), ('">', ">")],
    ),
}

TOOLS = [make_tool(name, ["note"], note="string", days="integer") for name in ("pin", "hang")]
CALLS: list[tuple[str, dict[str, Any]]] = [("pin", {"note": "a b", "days": 3}), ("hang", {"note": "x\ny"})]

LISTED = """\
{%- for m in messages -%}
<<{{ m.role }}>>{{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}<act>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</act>{% endfor -%}
<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""

MARKED = """\
{%- for m in messages -%}
<<{{ m.role }}>>{{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}[#act]{{ c.function.name }}[#with]{{ c.function.arguments | tojson }}[#done]{% endfor -%}
<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


def make(spelling: str) -> str:
    return FRAME % {"muse": "<muse>", "mused": "</muse>", "named": "", **SPELLINGS[spelling][0]}


def render(template: str, content: str, calls: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the turn that a template writes behind its prompt."""
    return render_turn(template, {"content": content, "tool_calls": [make_call(*call) for call in calls]}, TOOLS)[1]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_marks_may_be_written_without_what_all_of_a_family_have(spelling: str) -> None:
    template, (written, other) = make(spelling), SPELLINGS[spelling][1]
    format = analyze(template)
    text = render(template, "So.", CALLS)
    respelled = text.replace(written, other).replace("▁", "_")
    assert respelled != text
    found = read_all_ways(format, respelled, TOOLS, "<<assistant>>")
    assert (found.content, get_calls(found)) == ("So.", CALLS)
    parser = format.parser(tools=TOOLS, prompt="<<assistant>>")
    parser.feed(respelled)
    assert "marks in another spelling" in [name for name, _ in parser.recoveries]


@pytest.mark.parametrize("spelling", CHANGED)
def test_marks_may_be_written_in_another_way(spelling: str) -> None:
    marks, changes = CHANGED[spelling]
    template = FRAME % {"muse": "<muse>", "mused": "</muse>", "named": "", **marks}
    calls: list[tuple[str, dict[str, Any]]] = [("pin", {"note": "a b", "days": 3}), ("hang", {"note": "x"})]
    text = render(template, "So.", calls).removesuffix("<<over>>")
    for written, other in changes:
        text = text.replace(written, other)
    found = read_all_ways(analyze(template), text, TOOLS, "<<assistant>>")
    assert (found.content, get_calls(found)) == ("So.", calls)
    unknown = text.replace("pin", "peg").replace("hang", "peg")
    assert read_all_ways(analyze(template), unknown, TOOLS, "<<assistant>>").calls == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_makes_no_call_of_an_unknown_tool_and_none_where_all_is_strict(spelling: str) -> None:
    template, (written, other) = make(spelling), SPELLINGS[spelling][1]
    format = analyze(template)
    unknown = render(template, "So.", [("peg", {"note": "a"})]).replace(written, other).replace("▁", "_").removesuffix("<<over>>")
    assert (read_all_ways(format, unknown, TOOLS, "<<assistant>>")[1:3]) == (unknown, [])
    known = unknown.replace("peg", "pin")
    parser = format.parser(tools=TOOLS, prompt="<<assistant>>", policy="strict")
    deltas = [*parser.feed(known), *parser.finish()]
    assert "".join(delta.text for delta in deltas) == known
    assert {delta.kind for delta in deltas} == {"content"}


@pytest.mark.parametrize("spelling", ["a word before", "a word behind", "a mark before each"])
def test_a_value_may_hold_its_end_in_another_spelling(spelling: str) -> None:
    template, (written, _) = make(spelling), SPELLINGS[spelling][1]
    end = SPELLINGS[spelling][0]["close"].replace(written, "")
    calls: list[tuple[str, dict[str, Any]]] = [("pin", {"note": f"a{end}b", "days": 1})]
    found = read_all_ways(analyze(template), render(template, "", calls), TOOLS, "<<assistant>>")
    assert get_calls(found) == calls


def test_a_call_may_end_in_another_spelling_than_it_began() -> None:
    template = make("a word before")
    text = render(template, "", CALLS[:1])
    found = read_all_ways(analyze(template), text.replace("</ox_do_act>", "</do_act>"), TOOLS, "<<assistant>>")
    assert (found.content, get_calls(found)) == (None, CALLS[:1])


@pytest.mark.parametrize(
    ("before", "behind"), [("<tool_call>", "</tool_call>"), ("<function_calls>\n", "\n</function_calls>"), ("[TOOL_CALLS]", "")]
)
def test_a_mark_of_another_format_around_a_call_is_no_text(before: str, behind: str) -> None:
    template = make("a word before")
    text = render(template, "", CALLS[:1]).removesuffix("<<over>>")
    found = read_all_ways(analyze(template), f"So.\n{before}{text}{behind}", TOOLS, "<<assistant>>")
    assert ((found.content or "").strip(), get_calls(found)) == ("So.", CALLS[:1])
    prose = f"A {before.strip()} is a mark."
    assert read_all_ways(analyze(template), prose, TOOLS, "<<assistant>>").content == prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<act>[pin(note="a"), hang(note="b", days=2)]</act>', [("pin", {"note": "a"}), ("hang", {"note": "b", "days": 2})]),
        ('[TOOL_CALLS]pin[ARGS]{"note": "a"}', [("pin", {"note": "a"})]),
        ('<act>{"tool": "pin", "with": {"note": "a", "days": 3,},}</act>', [("pin", {"note": "a", "days": 3})]),
        ('<act>{name: pin, arguments: {"note": "a"}}</act>', [("pin", {"note": "a"})]),
        ('<act>{"name": "pin", "arguments": {"note": "a"}, "id": "c1", "type": "function"}', [("pin", {"note": "a"})]),
        ('<act>{"name": "pin", "arguments": {"note": "a"}}<act>', [("pin", {"note": "a"})]),
    ],
)
def test_slips_around_json(text: str, expected: list[tuple[str, Any]]) -> None:
    found = read_all_ways(analyze(LISTED), text, TOOLS, "<<assistant>>")
    assert (found.content, get_calls(found)) == (None, expected)


def test_a_parameter_behind_the_arguments_is_not_lost() -> None:
    """A bracket too early puts it there; dropped, the call would have less than the model wrote."""
    text = '<act>{"name": "pin", "arguments": {"note": "a"}, "days": 3}'
    found = read_all_ways(analyze(LISTED), text, TOOLS, "<<assistant>>")
    assert '"days": 3' in (found.content or "")


def test_json_that_is_no_list_of_calls_is_not_read_by_its_parameters() -> None:
    text = '<act>[{"name": "pin", "arguments": {"note": "a"}}, "junk"]</act>'
    found = read_all_ways(analyze(LISTED), text, TOOLS, "<<assistant>>")
    assert all(arguments == {"note": "a"} for _, arguments in get_calls(found))


def test_a_mark_before_arguments_may_be_doubled() -> None:
    text = '[#act]pin[#with][#with]{"note": "[#with]"}[#done]'
    found = read_all_ways(analyze(MARKED), text, TOOLS, "<<assistant>>")
    assert (found.content, get_calls(found)) == (None, [("pin", {"note": "[#with]"})])


def test_a_text_without_its_end_goes_up_to_the_line_of_the_next_mark() -> None:
    template = make("a word before")
    text = render(template, "", [("pin", {"note": "a\nb", "days": 3})]).replace("</ox_is>", "\n")
    found = read_all_ways(analyze(template), text, TOOLS, "<<assistant>>")
    assert get_calls(found) == [("pin", {"note": "a\nb", "days": 3})]


def test_a_number_ends_where_its_call_does() -> None:
    """What ends the number was left out, and what ends the call in part."""
    template = make("a word before")
    text = render(template, "", CALLS[:1]).replace("</ox_is></ox_do_act>", "\n</ox_do_act>")
    assert text.endswith("3\n</ox_do_act><<over>>")
    assert get_calls(read_all_ways(analyze(template), text, TOOLS, "<<assistant>>")) == CALLS[:1]
    cut = read(analyze(template), [text[: text.index("3") + 1]], TOOLS, "<<assistant>>")
    assert cut.incomplete == {0}
