"""The page: what it shows, and that nothing a stranger wrote is ever taken for HTML, script or style."""

from __future__ import annotations

import dataclasses
import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from corpus import list_templates

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.ask.renderer import load_renderer
from chat_autoparser.format import Counterexample, Verdict
from chat_autoparser.format.chat_format import FROM_INSTRUCTIONS
from chat_autoparser.show import command
from chat_autoparser.show.page import make_page as render_page
from chat_autoparser.show.sources import name_model
from chat_autoparser.show.turns import list_turns

DEMO = ROOT / "scripts" / "demo.jinja"
ALLOWED = {"charset", "http-equiv", "content", "name", "lang", "class", "id", "title", "aria-label", "aria-labelledby"}
ALLOWED |= {"aria-hidden", "aria-pressed", "aria-describedby", "aria-live", "role", "tabindex", "scope", "for", "type"}
ALLOWED |= {"min", "max", "value", "data-copy"}

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onmouseover='alert(3)' {{ 7 * 7 }} \x1b[2J \u202e"
EVIL = (
    "{% for m in messages %}<script>alert('{{ m.role }}')</script>{{ m.content }}"
    '{% for c in m.tool_calls or [] %}"><img src=x onerror=alert(1)>{{ c.function | tojson }}</img>{% endfor %}</style>'
    "{% endfor %}<script>alert('assistant')</script>"
)


class Reader(HTMLParser):
    """Reads a page: its elements, the attributes of each, and the text inside."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def read_all(self, *tags: str) -> list[str]:
        return ["".join(data) for tag, data in self.texts if tag in tags]


def make_page(tmp_path: Path, *arguments: str | Path) -> str:
    target = tmp_path / "page.html"
    assert command.main(["inspect", *map(str, arguments), "--html", str(target)]) == 0
    return target.read_text(encoding="utf-8")


def read_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def check_safety(page: str) -> Reader:
    """Assert that a page holds the elements and attributes of its own only, and that its policy knows its code."""
    reader = Reader(page)
    names = [tag for tag, _ in reader.tags]
    assert names.count("script") == 2
    assert names.count("style") == 1
    assert not {"img", "iframe", "link", "object", "a", "form", "base", "svg"} & set(names)
    assert {name for _, attributes in reader.tags for name in attributes} <= ALLOWED
    assert not re.search(r"https?:|//[a-z]", page)
    policy = next(attrs["content"] or "" for tag, attrs in reader.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    (style,) = reader.read_all("style")
    script = reader.read_all("script")[-1]
    for code in (style, script):
        assert f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" in policy
    return reader


def test_page_shows_conversation_format_and_stream(tmp_path: Path) -> None:
    page = make_page(tmp_path, DEMO)
    reader = check_safety(page)
    roles = {attributes.get("title"): attributes.get("class") for tag, attributes in reader.tags if tag == "span"}
    assert roles["system: content"] == "role-system field-content"
    assert roles["assistant: reasoning"] == "role-assistant field-reasoning"
    assert roles["assistant: name"] == "role-assistant field-name"
    assert roles["assistant: value"] == "role-assistant field-value"
    assert roles["tools: declaration"] == "role-tools field-declaration"
    assert roles["tool: content"] == "role-tool field-content"
    assert roles["template: marker"] == "role-template field-marker"
    text = "".join(data for tag, data in reader.texts if tag == "span")
    assert "What will the weather be?" in text
    assert "(:ask get_weather:)" in read_data(page)["text"]


def test_rendered_conversation_is_complete(tmp_path: Path) -> None:
    """The pieces on the page, put together, are a render of the template, which is known by hand."""
    page = make_page(tmp_path, DEMO)
    (shown,) = re.findall(r'<pre tabindex="0" aria-label="The rendered conversation" id="talk">(.*?)</pre>', page, re.DOTALL)
    text = "".join(Reader(shown).read_all("span"))
    assert text.endswith(
        "[user]\nWhat will the weather be?[over]\n[assistant]\n(:ponder:)I need the forecast, and the time of the next one."
        "(:decided:)\nLet me look that up.\n(:ask get_weather:)\n(:with city:)Oslo(:.:)\n(:with days:)3(:.:)\n(:asked:)\n"
        "(:ask find_train:)\n(:with station:)Bergen(:.:)\n(:asked:)[over]\n[tool]\nRain on day 0[over]\n"
        "[tool]\nRain on day 1[over]\n[assistant]\n(:ponder:)"
    )


def test_deltas_are_those_of_the_given_output(tmp_path: Path) -> None:
    text = "Hm.(:decided:)\nHi.\n(:ask f:)\n(:with a:)1(:.:)\n(:asked:)"
    output = tmp_path / "output.txt"
    output.write_text(text, encoding="utf-8")
    data = read_data(make_page(tmp_path, DEMO, "--output", output))
    assert data["text"] == text
    positions = [position for position, _ in data["deltas"]]
    assert positions == sorted(positions)
    assert "".join(delta.get("reasoning_content", "") for _, delta in data["deltas"]) == "Hm."
    assert "".join(delta.get("content", "") for _, delta in data["deltas"]) == "Hi."
    calls = [piece["function"] for _, delta in data["deltas"] for piece in delta.get("tool_calls", [])]
    assert calls[0]["name"] == "f"
    assert json.loads("".join(call.get("arguments", "") for call in calls)) == {"a": 1}
    assert min(position for position, delta in data["deltas"] if "content" in delta) > text.index("(:decided:)")


def test_nothing_of_a_stranger_is_markup(tmp_path: Path) -> None:
    template, output = tmp_path / "evil'\"><script>alert(0)<.jinja".replace("/", ""), tmp_path / "output.txt"
    template.write_text(EVIL, encoding="utf-8")
    output.write_text(HOSTILE, encoding="utf-8")
    page = make_page(tmp_path, template, "--output", output, "--bos-token", HOSTILE, "--eos-token", "<b>")
    reader = check_safety(page)
    assert read_data(page)["text"] == HOSTILE
    assert "<script>alert('user')</script>" in "".join(reader.read_all("span", "code"))
    assert "{{ 7 * 7 }}" in page
    assert "\x1b" not in page


@pytest.mark.parametrize("part", range(4))
def test_pages_of_real_templates(part: int, tmp_path: Path) -> None:
    """Every kind of template gets a page, and a conversation in it where one is rendered."""
    for path in list(list_templates().values())[part * 7 :: 160]:
        try:
            analyze(path, bos_token="<s>", eos_token="</s>")
        except ca.TemplateError:
            continue
        reader = check_safety(make_page(tmp_path, path))
        assert "The template renders none." not in reader.read_all("p"), path


def test_a_format_taught_without_a_template_has_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = tmp_path / "examples.json"
    examples.write_text(json.dumps([{"text": "(hm)A(/hm)B", "message": {"reasoning_content": "A", "content": "B"}}]))
    page = make_page(tmp_path, "--examples", examples)
    check_safety(page)
    assert "There is no template that renders one." in page
    assert read_data(page)["text"] == "(hm)I need the forecast, and the time of the next one.(/hm)Let me look that up."
    capsys.readouterr()
    assert command.main(["inspect", "--examples", str(examples)]) == 0
    assert "    (hm)I need the forecast, and the time of the next one.(/hm)Let me" in capsys.readouterr().out


def test_the_title_says_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "Some-Model-7B"
    folder.mkdir()
    (folder / "chat_template.jinja").write_bytes(DEMO.read_bytes())
    for given in (folder, folder / "chat_template.jinja"):
        assert "<title>Some-Model-7B – chat format</title>" in make_page(tmp_path, given)
    assert name_model(str(DEMO)) == "demo"
    assert name_model("some-lab/Some-Model-7B") == "some-lab/Some-Model-7B"


def test_verdict_reasons_and_counterexample_stand_before_the_format() -> None:
    renderer = load_renderer(DEMO)
    example = Counterexample("content", "[assistant]\n", "Hm.", '{"content": "Hm."}', '{"content": null}')
    parts = (("reasoning", "proven"), ("content", "not established"), ("tools", FROM_INSTRUCTIONS))
    format = dataclasses.replace(analyze(renderer), verdict=Verdict(parts, 9, 5, example))
    page = render_page("demo", format, renderer, list_turns(renderer, format))
    check_safety(page)
    header = page[: page.index("<main>")]
    assert "5 of 9 rendered turns were read back exactly" in header
    assert "content may arrive with markup in it" in header
    assert header.count("Next step:") == 1
    assert "Smallest counterexample" in header


def test_no_word_of_a_question_is_shown(tmp_path: Path) -> None:
    assert not re.search(r"zq[a-y]{3}x|uzqwhatx|szqrulex", make_page(tmp_path, DEMO))


def test_switches_of_the_examples_are_told(tmp_path: Path) -> None:
    assert "No switch is set in examples." in make_page(tmp_path, DEMO)
    assert "Assumed in every request: pondering=False" in make_page(tmp_path, DEMO, "--set", "pondering=false")


def test_equal_round_trips_are_one_entry(tmp_path: Path) -> None:
    page = make_page(tmp_path, DEMO)
    kept, tried = map(int, re.findall(r"<p>(\d+) of (\d+) come back unchanged", page)[0])
    entries = page[page.index('class="cards"') :].count("<li><p><span class=")
    turns = sum(map(int, re.findall(r"<summary>(\d+) turns?</summary>", page)))
    assert 0 < entries < tried
    assert turns == tried >= kept


def list_colours() -> dict[str, dict[str, str]]:
    """The variables of the style sheet, by scheme."""
    text = (ROOT / "core" / "show" / "page.css").read_text("utf-8")
    found = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", text)
    assert len(found) == 19
    return {"light": {name: light for name, light, _ in found}, "dark": {name: dark for name, _, dark in found}}


def find_luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(scheme: str) -> None:
    """Every colour of text on every background behind it has the contrast of WCAG 2, level AA."""
    colours = list_colours()[scheme]
    fields = ("text", "reasoning", "name", "key", "value", "id")
    pairs = [(field, back) for field in fields for back in ("panel", "system", "user", "assistant", "tool", "tools")]
    pairs += [(field, back) for field in ("soft", "good", "fair", "bad", "accent", "text") for back in ("back", "panel")]
    for field, back in pairs:
        bright, dim = sorted((find_luminance(colours[field]), find_luminance(colours[back])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, (field, back)


def test_unwritable_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["inspect", str(DEMO), "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot write" in capsys.readouterr().err
