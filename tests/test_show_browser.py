"""The page in a real browser: what a person sees and can do with the keyboard, and that a hostile page stays quiet.

Needs the package `playwright` (the extra `browser`) and a Chromium or Chrome: of the system (named by CHROMIUM where it is
not on the path), else playwright's own. `scripts/setup_browser.sh` sees to both; skipped where either is missing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from test_show_page import EVIL, HOSTILE, make_page, read_data

from chat_autoparser.analysis import analyze

playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra 'browser'")

DEMO = ROOT / "scripts" / "demo.jinja"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as driver:
        if path is None and not Path(driver.chromium.executable_path).exists() and not list_shells(driver):
            pytest.skip("needs Chromium or Chrome: run scripts/setup_browser.sh, or name one with CHROMIUM")
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


def list_shells(driver: Any) -> list[Path]:
    """The browsers without a window that playwright has downloaded."""
    return list(Path(driver.chromium.executable_path).parents[2].glob("chromium_headless_shell-*"))


class Visit:
    """A page that was opened, and everything that went wrong or left for the network meanwhile."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.events: list[str] = []
        self.page.on("console", lambda message: self._note("console", message.text))
        self.page.on("pageerror", lambda error: self._note("error", error))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", self._note_request)
        self._url = file.as_uri()
        self.page.goto(file.as_uri())

    def _note(self, kind: str, what: Any) -> None:
        self.events.append(f"{kind}: {what}")

    def _dismiss(self, dialog: Any) -> None:
        self._note("dialog", dialog.message)
        dialog.dismiss()

    def _note_request(self, request: Any) -> None:
        if request.url != self._url:
            self.events.append(request.url)

    def read_client(self) -> dict[str, str]:
        """What the client has, by the label of each field."""
        labels = self.page.locator("#client dt").all_text_contents()
        return dict(zip(labels, self.page.locator("#client dd").all_text_contents(), strict=bool(labels)))


@pytest.fixture
def demo(browser: Any, tmp_path: Path) -> Iterator[tuple[Visit, Path]]:
    make_page(tmp_path, DEMO)
    visit = Visit(browser, tmp_path / "page.html")
    yield visit, tmp_path / "page.html"
    visit.page.close()


def test_the_client_has_the_whole_message_at_the_end(demo: tuple[Visit, Path]) -> None:
    visit, _ = demo
    client = visit.read_client()
    assert client["reasoning"] == "I need the forecast, and the time of the next one."
    assert client["content"] == "Let me look that up."
    calls = {label.partition(" (")[0]: text for label, text in client.items() if label.startswith("call")}
    assert calls == {"call 0: get_weather": '{"city": "Oslo", "days": 3}', "call 1: find_train": '{"station": "Bergen"}'}
    assert visit.events == []


def test_the_slider_shows_each_moment(demo: tuple[Visit, Path]) -> None:
    """At every position the client has what the parser has emitted for as much of the text."""
    visit, file = demo
    text = read_data(file.read_text("utf-8"))["text"]
    format = analyze(DEMO)
    slider = visit.page.locator("#slider")
    slider.focus()
    slider.press("Home")
    assert visit.page.locator("#client").inner_text() == "nothing yet"
    parser, reasoning, content = format.parser(), "", ""
    for position, char in enumerate(text[:70], start=1):
        slider.press("ArrowRight")
        for delta in parser.feed(char):
            reasoning += delta.text if delta.kind == "reasoning" else ""
            content += delta.text if delta.kind == "content" else ""
        client = visit.read_client()
        assert (client.get("reasoning", ""), client.get("content", "")) == (reasoning, content)
        assert visit.page.locator("#past").text_content() == text[:position]
        assert visit.page.locator("#past").text_content() + visit.page.locator("#future").text_content() == text
    assert content
    assert slider.get_attribute("aria-valuetext").startswith("70 of ")


def test_everything_can_be_reached_and_worked_by_keyboard(demo: tuple[Visit, Path]) -> None:
    visit, _ = demo
    reached = []
    for _ in range(12):
        visit.page.keyboard.press("Tab")
        reached.append(visit.page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "BUTTON", "talk", "play", "slider", "written", "SUMMARY", "PRE"} <= set(reached)
    summary = visit.page.locator("summary").first
    summary.focus()
    summary.press("Enter")
    assert visit.page.locator("details").first.evaluate("element => element.open")
    play = visit.page.locator("#play")
    play.focus()
    play.press("Enter")
    assert play.get_attribute("aria-pressed") == "true"
    for _ in range(100):  # what waits inside the page is code that the policy stops
        if 3 < int(visit.page.locator("#slider").input_value()) < 218:
            break
        visit.page.wait_for_timeout(20)
    play.press("Enter")
    assert play.get_attribute("aria-pressed") == "false"
    assert int(visit.page.locator("#slider").input_value()) < 218
    unlabelled = "[...document.querySelectorAll('input, button')].filter(e => !e.labels?.length && !e.textContent).length"
    assert visit.page.evaluate(unlabelled) == 0


def test_light_and_dark(browser: Any, tmp_path: Path) -> None:
    make_page(tmp_path, DEMO)
    backs = []
    for scheme in ("light", "dark"):
        visit = Visit(browser, tmp_path / "page.html", color_scheme=scheme)
        backs.append(visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        piece = visit.page.locator(".role-user").first
        assert piece.evaluate("e => getComputedStyle(e).backgroundColor") not in backs
        visit.page.close()
    assert backs == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


def test_the_theme_can_be_switched(demo: tuple[Visit, Path]) -> None:
    visit, _ = demo
    find = "getComputedStyle(document.body).backgroundColor"
    before = visit.page.evaluate(find)
    visit.page.locator("#theme").click()
    assert visit.page.evaluate(find) != before
    visit.page.locator("#theme").click()
    assert visit.page.evaluate(find) == before


def test_a_turn_can_be_copied(browser: Any, tmp_path: Path) -> None:
    make_page(tmp_path, DEMO)
    visit = Visit(browser, tmp_path / "page.html", permissions=["clipboard-read", "clipboard-write"])
    button = visit.page.locator("button.copy").first
    button.click()
    visit.page.wait_for_timeout(100)
    assert button.inner_text() == "Copied"
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied == visit.page.locator("#turn").text_content()
    assert copied.startswith("I need the forecast")
    visit.page.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_no_screen_needs_scrolling_sideways_and_nothing_is_clipped(width: int, browser: Any, tmp_path: Path) -> None:
    make_page(tmp_path, DEMO)
    visit = Visit(browser, tmp_path / "page.html", viewport={"width": width, "height": 800})
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    clipped = "[...document.querySelectorAll('pre, dd, td, li, p')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert visit.page.evaluate(clipped) == 0
    visit.page.close()


def test_verdict_and_proof_are_on_the_first_screen(browser: Any, tmp_path: Path) -> None:
    make_page(tmp_path, DEMO)
    for width in (400, 1280):
        visit = Visit(browser, tmp_path / "page.html", viewport={"width": width, "height": 720})
        assert visit.page.locator(".verdict").bounding_box()["y"] < 360
        assert visit.page.locator("#h-format").bounding_box()["y"] < 720
        visit.page.close()


def test_hostile_templates_and_outputs_stay_text(browser: Any, tmp_path: Path) -> None:
    template, output = tmp_path / "evil.jinja", tmp_path / "output.txt"
    template.write_text(EVIL, encoding="utf-8")
    output.write_text(HOSTILE, encoding="utf-8")
    make_page(tmp_path, template, "--output", output)
    visit = Visit(browser, tmp_path / "page.html")
    visit.page.wait_for_timeout(200)
    assert visit.events == []
    assert visit.page.locator("img").count() == 0
    assert "</script><script>alert(1)</script>" in visit.page.locator("#past").inner_text()
    assert "\\u202e" in visit.page.locator("#past").inner_text()
    visit.page.close()


def test_the_policy_stops_code_that_is_not_the_pages_own(browser: Any, tmp_path: Path) -> None:
    """Were a text to slip through as markup, it would not run."""
    page = make_page(tmp_path, DEMO)
    file = tmp_path / "page.html"
    file.write_text(page.replace("<main>", "<main><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>"))
    visit = Visit(browser, file)
    visit.page.wait_for_timeout(100)
    assert visit.page.evaluate("window.taken") is None
    assert any("Content Security Policy" in event for event in visit.events)
    visit.page.close()
