"""Code around calls: what is dress, and what shows a call. The templates are invented; each text is read alike in all splits."""

from __future__ import annotations

from functools import cache

import pytest
from streams import analyze, make_call, make_tool, read, read_all_ways, render_turn

import chat_autoparser as ca

WRAPPER = """\
{%%- for m in messages -%%}
<<{{ m.role }}>>
{%%- if m.reasoning_content %%}<muse>{{ m.reasoning_content }}</muse>{%% endif -%%}
{{ m.content or '' }}
{%%- if m.tool_calls -%%}%s{%%- for c in m.tool_calls -%%}%s{%%- endfor -%%}%s{%%- endif -%%}
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

JSON, NAME = "{{ c.function.arguments | tojson }}", "{{ c.function.name }}"
ITEMS = "{% for k, v in c.function.arguments.items() %}"
VALUE = "{{ v if v is string else v | tojson }}"

FORMATS = {
    "name and JSON": (WRAPPER % ("", f"[do {NAME} {JSON}]", ""), '[do look {"city": "Oslo"}]', "[do now {}]"),
    "section": (
        WRAPPER % ("⟦acts⟧", f"⟦act⟧{NAME}\n{JSON}⟦/act⟧", "⟦/acts⟧"),
        '⟦acts⟧⟦act⟧look\n{"city": "Oslo"}⟦/act⟧⟦/acts⟧',
        "⟦acts⟧⟦act⟧now\n{}⟦/act⟧⟦/acts⟧",
    ),
    "bare JSON": (
        WRAPPER % ("", f'{{"tool": "{NAME}", "input": {JSON}}}', ""),
        '{"tool": "look", "input": {"city": "Oslo"}}',
        '{"tool": "now", "input": {}}',
    ),
    "tags": (
        WRAPPER % ("", f'<run f="{NAME}">{ITEMS}<arg n="{{{{ k }}}}">{VALUE}</arg>{{% endfor %}}</run>', ""),
        '<run f="look"><arg n="city">Oslo</arg></run>',
        '<run f="now"></run>',
    ),
    "lines": (
        WRAPPER % ("", f"{{{{ '\\n' }}}}@run {NAME}\n{ITEMS}  {{{{ k }}}} = {VALUE}\n{{% endfor %}}@end", ""),
        "@run look\n  city = Oslo\n@end",
        "@run now\n@end",
    ),
}

TOOLS = [make_tool("look", city="string"), make_tool("now")]
LOOK, NOW = ("look", '{"city": "Oslo"}'), ("now", "{}")
AROUND = "fence around a call"

each_format = pytest.mark.parametrize("name", FORMATS)


@cache
def get_format(name: str) -> ca.ChatFormat:
    return analyze(FORMATS[name][0])


def fill(name: str, text: str) -> str:
    """Write the calls of a format where a text has ONE and TWO."""
    return text.replace("ONE", FORMATS[name][1]).replace("TWO", FORMATS[name][2])


@each_format
@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("```json\nONE\n```", None, [LOOK]),
        ("```\nONE\n```<<over>>", None, [LOOK]),
        ("````xml\n\nONE\n\n````\n\n<<over>>", None, [LOOK]),
        ("~~~tool-call\nONE\n~~~\n", None, [LOOK]),
        ("```\nONE", None, [LOOK]),
        ("  ```python\n  ONE\n  ```", None, [LOOK]),
        ("Let me look.\n\n```json\nONE\n```<<over>>", "Let me look.", [LOOK]),
        ("A list:\n \n  ```json\n  ONE\n  ```<<over>>", "A list:", [LOOK]),
        ("```\nONE\nTWO\n```", None, [LOOK, NOW]),
        ("```\nONE\n```\n\n```sh\nTWO\n```\n", None, [LOOK, NOW]),
        ("ONE\n~~~\nTWO\n~~~", None, [LOOK, NOW]),
        ("```\nONE\n```\nTWO", None, [LOOK, NOW]),
        ("```python\nprint(1)\n```\n\n```\nONE\n```", "```python\nprint(1)\n```", [LOOK]),
    ],
)
def test_a_fence_around_calls_alone_is_no_content(name: str, text: str, content: str | None, calls: list[tuple[str, str]]) -> None:
    found = read_all_ways(get_format(name), fill(name, text), TOOLS)
    assert ((found.content or "").strip() or None, found.calls) == (content, calls)
    assert AROUND in found.recoveries


@each_format
@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("```\nONE\n# done\n```", "``` # done ```", [LOOK]),
        ("```\n# first\nONE\n```", "``` # first ```", [LOOK]),
        ("```\nONE\nno end", "``` no end", [LOOK]),
        ("```python\nprint(1)\n```\nONE", "```python print(1) ```", [LOOK]),
        ("Here: ```json\nONE\n```", "Here: ```json ```", [LOOK]),
    ],
)
def test_a_fence_around_more_than_calls_is_content(name: str, text: str, content: str, calls: list[tuple[str, str]]) -> None:
    found = read_all_ways(get_format(name), fill(name, text), TOOLS)
    assert (" ".join((found.content or "").split()), found.calls) == (content, calls)
    assert AROUND not in found.recoveries


@each_format
@pytest.mark.parametrize(
    "text",
    [
        "Like so:\n```\nONE\n```\nThat is all.",
        "Like so:\n~~~xml\nONE\n~~~\nThat is all.",
        "```\nONE\n```\n```\nTWO\n```\nThat is all.",
        "````md\n```\nONE\n```\n````\nThat is all.",
    ],
)
def test_calls_in_a_fence_with_prose_behind_are_an_example(name: str, text: str) -> None:
    text = fill(name, text)
    found = read_all_ways(get_format(name), text + "<<over>>", TOOLS)
    assert (found.content, found.calls, found.recoveries) == (text, [], [])


@each_format
def test_a_long_call_in_a_fence_does_not_wait_for_its_end(name: str) -> None:
    text, city = fill(name, "```\nONE\n```\nAnd more."), "x y " * 2000 + "z"
    found = read_all_ways(get_format(name), text.replace("Oslo", city), TOOLS)
    assert ((found.content or "").strip(), found.calls) == ("And more.", [("look", f'{{"city": "{city}"}}')])


@each_format
def test_a_fence_in_open_reasoning_goes_with_its_call(name: str) -> None:
    found = read_all_ways(get_format(name), fill(name, "<muse>Hm.\n```\nONE\n```\n"), TOOLS)
    assert ((found.reasoning or "").strip(), found.content, found.calls) == ("Hm.", None, [LOOK])
    found = read_all_ways(get_format(name), fill(name, "<muse>Hm.</muse>```\nONE\n```\n"), TOOLS)
    assert (found.reasoning, found.content, found.calls) == ("Hm.", None, [LOOK])


@each_format
def test_strictly_a_fence_is_content(name: str) -> None:
    found = read(get_format(name), [fill(name, "```json\nONE\n```<<over>>")], TOOLS, policy="strict")
    assert found.recoveries == []
    assert (found.content or "").startswith("```json")


def test_the_line_of_a_fence_waits_for_what_begins_behind_it() -> None:
    parser = get_format("tags").parser(TOOLS)
    pieces = ["So:\n", "```", "js", "\n", "x", " = 1"]
    came = ["".join(delta.text for delta in parser.feed(piece)) for piece in pieces]
    assert came == ["So:\n", "", "", "", "```js\nx", " = 1"]


def test_a_call_behind_the_end_of_content_does_not_stand_in_its_code() -> None:
    source = (
        "{% for m in messages %}[turn {{ m.role }}]{% if m.reasoning_content %}[muse]{{ m.reasoning_content }}[/muse]{% endif %}"
        "{% if m.content %}[say]{{ m.content }}[/say]{% endif %}{% for c in m.tool_calls or [] %}"
        "[use {{ c.function.name }}]{{ c.function.arguments | tojson }}[/use]{% endfor %}[/turn]{% endfor %}"
        "{% if add_generation_prompt %}[turn assistant]{% endif %}"
    )
    form = analyze(source)
    call = '[use look]{"city": "Oslo"}[/use]'
    found = read_all_ways(form, f"[say]A fence:\n```\n[/say]{call}[/turn]", TOOLS)
    assert (found.content, found.calls, found.recoveries) == ("A fence:\n```\n", [LOOK], [])
    found = read_all_ways(form, f"[muse]A fence:\n```\n[/muse]{call}[/turn]", TOOLS)
    assert (found.reasoning, found.calls, found.recoveries) == ("A fence:\n```\n", [LOOK], [])
    found = read_all_ways(form, f"[say]I look.\n```\n{call}\n```\n[/say][/turn]", TOOLS)
    assert (found.content, found.calls) == ("I look.\n", [LOOK])


@each_format
@pytest.mark.parametrize(
    "text",
    [
        "I would write `ONE`.",
        "`ONE`",
        "I would write ``ONE`` then.",
        "Say `ls`, and not `ONE`: that is all.",
        "`ONE, then TWO` is what I write.",
        "A line with one ` in it.\nOr `ONE`, as they say.",
    ],
)
def test_a_call_in_inline_code_is_shown(name: str, text: str) -> None:
    text = fill(name, text)
    found = read_all_ways(get_format(name), text + "<<over>>", TOOLS)
    assert (found.content, found.calls, found.recoveries) == (text, [], [])
    found = read_all_ways(get_format(name), f"<muse>{text}</muse>Yes.<<over>>", TOOLS)
    assert (found.reasoning, found.content, found.calls) == (text, "Yes.", [])


@each_format
@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("The sign is `ONE<<over>>", "The sign is `"),
        ("The signs are ``ONE<<over>>", "The signs are ``"),
        ("The sign is `ONE`` here.", "The sign is ``` here."),
        ("The sign is `ONE\n\nThat is `it`.", "The sign is ` That is `it`."),
        ("I run `ls`ONE", "I run `ls`"),
        ("I run `ls`ONE, then `cd`.", "I run `ls`, then `cd`."),
    ],
)
def test_a_backquote_before_a_call_that_none_closes_is_text(name: str, text: str, content: str) -> None:
    for city in ("Oslo", "a `b` c", "`", "``"):
        found = read_all_ways(get_format(name), fill(name, text).replace("Oslo", city), TOOLS)
        assert " ".join((found.content or "").split()) == content
        assert (found.calls, found.recoveries) == ([("look", f'{{"city": "{city}"}}')], [])


@each_format
def test_a_call_that_a_template_renders_behind_a_backquote_is_one(name: str) -> None:
    message = {"content": "Not a quote: `", "tool_calls": [make_call("look", {"city": "the `old` town"})]}
    prompt, written = render_turn(FORMATS[name][0], message)
    found = read_all_ways(get_format(name), written, TOOLS, prompt)
    assert ((found.content or "").strip(), found.calls) == (message["content"], [("look", '{"city": "the `old` town"}')])


def test_only_a_call_behind_a_backquote_waits_for_another_one() -> None:
    form = get_format("name and JSON")
    parser = form.parser(TOOLS)
    came = [bool(parser.feed(piece)) for piece in ("Run `ls` and", " `cd`: ", "[do look {", '"city": "Oslo"', "}]")]
    assert came == [True, True, False, True, True]
    parser = form.parser(TOOLS)
    came = [bool(parser.feed(piece)) for piece in ("Write ", "`[do look {", '"city": "Oslo"', "}]", "\n", "\nor")]
    assert came == [True, True, False, False, False, True]


@each_format
@pytest.mark.parametrize(
    "text",
    [
        "Like so:\n\n    ONE\n\nThat is all.",
        "As code:\n \n\tlook:\n\tONE\nNot now.",
        "So:\n\n    1: ONE\n\n    2: TWO\n\nYes.",
    ],
)
def test_a_call_in_indented_code_is_shown(name: str, text: str) -> None:
    text = fill(name, text).strip()
    found = read_all_ways(get_format(name), text + "<<over>>", TOOLS)
    assert (found.content, found.calls, found.recoveries) == (text, [], [])


@each_format
@pytest.mark.parametrize("text", ["I look.\n\n    ONE", "I look.\n    ONE", "    ONE"])
def test_a_call_that_is_indented_alone_is_one(name: str, text: str) -> None:
    found = read_all_ways(get_format(name), fill(name, text) + "<<over>>", TOOLS)
    assert ((found.content or "").strip(), found.calls) == (text.replace("ONE", "").strip(), [LOOK])


@each_format
def test_strictly_a_call_in_inline_code_is_one(name: str) -> None:
    found = read(get_format(name), [fill(name, "I would write `ONE<<over>>")], TOOLS, policy="strict")
    assert found.recoveries == []
    assert found.calls == read(get_format(name), [fill(name, "I would write ONE<<over>>")], TOOLS, policy="strict").calls
