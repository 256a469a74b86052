"""The library's own front: what is refused of what callers give by mistake, and what the package says of itself."""

from __future__ import annotations

import re
from typing import Any

import pytest

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.format import ChatFormat


@pytest.mark.parametrize("tools", ["x", b"x", 5, {"type": "function"}, ["x"], [1], [object(), None]])
def test_tools_that_are_no_list_of_dicts_are_refused(tools: Any) -> None:
    for read in (ChatFormat().parser, ChatFormat().reasoning_splitter):
        with pytest.raises(TypeError, match="list of tool dicts"):
            read(tools)


@pytest.mark.parametrize("messages", ["x", ["x"], 5, None, {"role": "user"}, [{"role": "user"}, 5]])
def test_messages_that_are_no_list_of_dicts_are_refused(messages: Any) -> None:
    with pytest.raises(TypeError, match="messages must be a list of message dicts, not "):
        ChatFormat().validate(messages)
    with pytest.raises(TypeError, match="messages must be a list of message dicts, not "):
        ca.check_conversation("{{ messages }}", messages)


@pytest.mark.parametrize(
    ("bounds", "kind"), [({"seconds": "x"}, TypeError), ({"seconds": float("nan")}, ValueError), ({"renders": -1}, ValueError)]
)
def test_bounds_are_numbers(bounds: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"{next(iter(bounds))} must be "):
        ca.Budget(**bounds)


def test_a_prompt_that_is_no_text_is_refused() -> None:
    messages: Any = [{"role": "user", "content": "Hello"}]
    with pytest.raises(TypeError, match="rendered prompt as text"):
        ChatFormat().parse("Hm.", None, messages)


@pytest.mark.parametrize("text", [None, 3, b"Hm."])
def test_an_output_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(TypeError, match="what the model wrote, as str"):
        ChatFormat().parse(text)


@pytest.mark.parametrize(("text", "told"), [("", "is empty"), ("some-lab/Model-7B", "looks like the name of a model")])
def test_texts_that_are_no_template_are_told_apart(text: str, told: str) -> None:
    with pytest.raises(ca.TemplateError, match=told):
        analyze(text)


def test_the_package_has_a_version_and_a_page_of_help() -> None:
    assert ca.__version__
    assert {"StreamParser", "Budget", "__version__"} <= set(ca.__all__)
    named = set(re.findall(r":(?:func|class):`(\w+)`", ca.__doc__ or ""))
    assert len(named) >= 10
    assert named <= set(ca.__all__)
