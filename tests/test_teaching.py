"""Formats taught by example: what an author writes down by hand is learnt, proven, and read in texts that were not shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.format import ChatFormat, Conversation
from chat_autoparser.show import command
from chat_autoparser.teach.lesson import load_environment_lessons, load_lessons

SILENT = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": "call_7", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def lesson(text: str, *calls: dict[str, Any], content: str = "", reasoning: str = "", **more: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": list(calls)}
    return {"text": text, "message": message, **more}


def read(format: ChatFormat, text: str) -> tuple[Any, Any, list[Any]]:
    message = format.parse(text)
    calls = [[call["function"]["name"], json.loads(call["function"]["arguments"])] for call in message.get("tool_calls", [])]
    return message["reasoning_content"], message["content"], calls


NOTATIONS = {
    "JSON in tags": (
        'Wait.\n<use>{"tool": "look", "with": {"city": "Oslo", "days": 3}}</use>',
        '<use>{"tool": "look", "with": {"city": "a \\"b\\"", "days": [1, {"x": null}], "more": true}}</use>',
        {"city": 'a "b"', "days": [1, {"x": None}], "more": True},
    ),
    "name, then JSON": (
        'Wait.[CALL]look[ARGS]{"city": "Oslo", "days": 3}',
        '[CALL]look[ARGS]{"city": "}", "days": {}}',
        {"city": "}", "days": {}},
    ),
    "tags with raw values": (
        "Wait.\n<fn=look>\n<p=city>Oslo</p>\n<p=days>3</p>\n</fn>",
        '\n<fn=look>\n<p=days>4</p>\n<p=city>"a" & {b}\nc</p>\n</fn>',
        {"days": 4, "city": '"a" & {b}\nc'},
    ),
    "keywords": (
        'Wait. [look(city="Oslo", days=3)]',
        ' [look(days=4.5, city="a, b) c", more=[1, 2])]',
        {"days": 4.5, "city": "a, b) c", "more": [1, 2]},
    ),
    "odd quotes": (
        "Wait.<|call>look{city:<|q|>Oslo<|q|>,days:3}<call|>",
        '<|call>look{days:4,city:<|q|>a, "b"} c<|q|>}<call|>',
        {"days": 4, "city": 'a, "b"} c'},
    ),
    "words of another language": (
        "Wait.\n<fn=look>\n<p=city>Oslo</p>\n<p=wet>True</p>\n</fn>",
        "\n<fn=look>\n<p=city>Rome</p>\n<p=wet>False</p>\n</fn>",
        {"city": "Rome", "wet": "False"},
    ),
}


@pytest.mark.parametrize("name", NOTATIONS)
def test_one_example_teaches_a_notation(name: str) -> None:
    shown, text, expected = NOTATIONS[name]
    arguments = {"city": "Oslo", "wet": True} if "wet" in shown else {"city": "Oslo", "days": 3}
    format = analyze(SILENT, examples=[lesson(shown, call("look", **arguments), content="Wait.")])
    assert format.verdict.of("tools") == "taught by example"
    tools = [{"name": "look", "parameters": {"type": "object", "properties": {"wet": {"type": "string"}}}}]
    message = format.parse("So:" + text, tools=tools)
    assert message["content"] == "So:"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == expected


ONE_ARGUMENT = {
    "tags": ("Wait.\n<fn=look>\n<p=city>Oslo</p>\n</fn>", "\n<fn=find>\n<p=town>Bonn & <b></p>\n</fn>"),
    "tags, two arguments": (
        "Wait.\n<fn=look>\n<p=city>Oslo</p>\n</fn>",
        "\n<fn=find>\n<p=town>Bonn & <b></p>\n<p=land>x</p>\n</fn>",
    ),
    "tags, none": ("Wait.\n<fn=look>\n<p=city>Oslo</p>\n</fn>", "\n<fn=find>\n</fn>"),
    "tags named like the key": (
        "Wait.<fn:look><city>Oslo</city></fn:look>",
        "<fn:find><town>Bonn & <b></town><land>x</land></fn:find>",
    ),
    "keywords": ('Wait. [look(city="Oslo")]', ' [find(town="Bonn & <b>")]'),
    "lines": ("Wait.\n%call look\n%city=Oslo%\n%%", "\n%call find\n%town=Bonn & <b>%\n%%"),
}


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_a_call_with_one_argument_teaches_a_notation(name: str) -> None:
    shown, text = ONE_ARGUMENT[name]
    format = analyze(SILENT, examples=[lesson(shown, call("look", city="Oslo"), content="Wait.")])
    assert format.verdict.of("tools") == "taught by example"
    assert "not known: what stands between two arguments: no example has two" in format.verdict.notes
    expected = {} if "none" in name else {"town": "Bonn & <b>", **({"land": "x"} if "land" in text else {})}
    assert read(format, "So:" + text) == (None, "So:", [["find", expected]])


ONE = lesson('Wait.\n<use>{"f": "look", "a": {"city": "Oslo"}}</use>', call("look", city="Oslo"), content="Wait.")
TWO = lesson(
    '<use>{"f": "look", "a": {"city": "Oslo"}}; {"f": "find", "a": {"city": "Bonn"}}</use>',
    call("look", city="Oslo"),
    call("find", city="Bonn"),
)


def test_a_second_example_tells_what_stands_between_calls() -> None:
    once = analyze(SILENT, examples=[ONE])
    assert "not known: how several calls are written: no example has two" in once.verdict.notes
    assert once.tools is not None
    assert not once.tools.parallel
    twice = analyze(SILENT, examples=[ONE, TWO])
    assert twice.tools is not None
    assert twice.tools.parallel
    assert not any("not known" in note for note in twice.verdict.notes)
    text = '<use>{"f": "a", "a": {}}; {"f": "b", "a": {"x": 1}}; {"f": "c", "a": {}}</use>'
    assert read(twice, text)[2] == [["a", {}], ["b", {"x": 1}], ["c", {}]]


def test_what_no_example_shows_is_named() -> None:
    arguments = {"city": "Oslo", "land": "Norway"}
    text = "Wait.\n<fn=look>\n<p=city>Oslo</p>\n<p=land>Norway</p>\n</fn>"
    notes = analyze(SILENT, examples=[lesson(text, call("look", **arguments), content="Wait.")]).verdict.notes
    assert any("values other than strings" in note for note in notes)
    assert any("quotes, brackets or line breaks" in note for note in notes)
    arguments["land"] = "<b>"
    shown = lesson(text.replace("Norway", "<b>"), call("look", **arguments), content="Wait.")
    assert not any("quotes, brackets" in note for note in analyze(SILENT, examples=[shown]).verdict.notes)


def test_examples_teach_reasoning_too() -> None:
    shown = lesson("(hm)Let me see.(/hm)\n\nHi.", content="Hi.", reasoning="Let me see.")
    format = analyze(SILENT, examples=[shown, ONE])
    assert format.verdict.proven
    assert format.verdict.of("reasoning") == "taught by example"
    text = '(hm)One.\nTwo.(/hm)\n\n<use>{"f": "a", "a": {}}</use>'
    assert read(format, text) == ("One.\nTwo.", None, [["a", {}]])


HIDDEN = SILENT.replace("{{ m.content }}", "{{ m.content.split('</think>')[-1] if m.role == 'assistant' else m.content }}")


def test_calls_that_the_template_prints_are_left_to_it_where_reasoning_is_taught() -> None:
    calls = "{% for c in m.tool_calls or [] %}[do {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    source = SILENT.replace("{{ m.content }}", "{{ m.content }}" + calls)
    format = analyze(source, examples=[lesson("<hm>I think.</hm>Yes.", reasoning="I think.", content="Yes.")])
    assert dict(format.verdict.parts) == {"reasoning": "taught by example", "content": "proven", "tools": "proven"}
    text = '<hm>I think.</hm>Let me see.[do look {"city": "Oslo"}]'
    assert read(format, text) == ("I think.", "Let me see.", [["look", {"city": "Oslo"}]])


def test_examples_confirm_what_was_inferred() -> None:
    """A step that was taken is not advised again, neither where it helped nor where it did not."""
    assert analyze(HIDDEN).verdict.of("reasoning") == "not established"
    assert "next step: give one or two raw outputs" in str(analyze(HIDDEN))
    shown = lesson("<think>Let me see.</think>\n\nHi.", content="Hi.", reasoning="Let me see.")
    format = analyze(HIDDEN, examples=[shown])
    assert format.verdict.of("reasoning") == "taught by example"
    assert format.verdict.notes[-1] == "confirmed by 1 example: content, reasoning"
    assert "next step" not in str(format)
    odd = lesson("<mull>Let me see.</mull>\n\nHi.", content="Hi.", reasoning="Let me see.")
    format = analyze(HIDDEN, examples=[shown, odd])
    assert format.verdict.of("reasoning") == "not established"
    assert "next step: correct the example that the counterexample shows" in str(format)


def test_examples_stand_in_for_a_template() -> None:
    prompt = "<|user|>Where?<|end|><|bot|>"
    spoken = lesson("Hello.<|end|>", content="Hello.", prompt=prompt)
    both = lesson(
        '(hm)Oslo?(/hm)Wait.<use>{"f": "look", "a": {"city": "Oslo"}}</use><|end|>',
        call("look", city="Oslo"),
        content="Wait.",
        reasoning="Oslo?",
        prompt=prompt,
    )
    format = analyze(examples=[spoken, both])
    assert format.verdict.proven
    assert format.stops == ("<|end|>",)
    assert read(format, '(hm)x(/hm)y<use>{"f": "z", "a": {"k": [1]}}</use><|end|>') == ("x", "y", [["z", {"k": [1]}]])
    assert format.conversation == Conversation()


def test_a_tokenizer_without_a_template_is_taught(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ca.TemplateError, match="teach the format by example"):
        analyze(tmp_path)
    assert analyze(tmp_path, examples=[ONE]).verdict.of("tools") == "taught by example"
    with pytest.raises(ca.TemplateError, match="teach the format by example"):
        analyze()


def test_what_the_template_prints_is_not_overruled() -> None:
    path = Path(__file__).parent.parent / "scripts" / "demo.jinja"
    known = analyze(path)
    taught = analyze(path, examples=[ONE])
    assert taught.tools == known.tools
    assert not taught.verdict.of("tools").startswith("taught")
    assert "1 of the examples are not read back as they say" in taught.verdict.notes


def test_examples_that_do_not_show_what_they_mean() -> None:
    with pytest.raises(ca.LessonError, match="example 0: its content does not stand in its text"):
        analyze(SILENT, examples=[lesson("Hello.", content="Goodbye.")])
    with pytest.raises(ca.LessonError, match="its calls do not all stand in its text"):
        analyze(SILENT, examples=[lesson('<use>{"f": "look", "a": {}}</use>', call("look", city="Oslo"))])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([], "no example"),
        ("text", "no list"),
        ([{"text": "x"}], "not of the form"),
        ([{"text": "x", "message": {}}], "neither reasoning nor content nor tool calls"),
        ([{"text": "x", "message": {"content": "x"}, "promt": ""}], "'promt' is not known"),
        ([{"text": "x", "message": {"tool_calls": [{"function": {"name": "f", "arguments": "["}}]}}], "a JSON object"),
    ],
)
def test_unreadable_examples(data: Any, reason: str) -> None:
    with pytest.raises(ca.LessonError, match=reason):
        load_lessons(data)


def test_examples_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAT_AUTOPARSER_EXAMPLES", raising=False)
    assert load_environment_lessons() == ()
    monkeypatch.setenv("CHAT_AUTOPARSER_EXAMPLES", str(tmp_path / "examples.json"))
    with pytest.raises(ca.LessonError, match="No such file"):
        load_environment_lessons()
    (tmp_path / "examples.json").write_text(json.dumps({"examples": [ONE, TWO]}))
    assert analyze(SILENT, examples=load_environment_lessons()) == analyze(SILENT, examples=[ONE, TWO])


def test_the_command_takes_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template, examples = tmp_path / "silent.jinja", tmp_path / "examples.json"
    template.write_text(SILENT)
    examples.write_text(json.dumps([ONE, TWO]))
    assert command.main(["check", str(template)]) == 0
    assert command.main(["inspect", str(template), "--examples", str(examples)]) == 0
    out = capsys.readouterr().out
    assert "taught by example" in out
    assert '{"f": "NAME", "a":' in out
    assert command.main(["inspect", "--examples", str(examples)]) == 0
    assert command.main(["inspect"]) == 2
    assert "--examples FILE" in capsys.readouterr().err
    assert command.main(["inspect", str(template), "--examples", str(template)]) == 2
    assert "is not valid JSON" in capsys.readouterr().err
