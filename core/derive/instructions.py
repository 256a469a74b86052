"""Calls that a template never prints: read from the example that its own instructions hold.

Some templates show the tools in the prompt and tell the model how to call them, and yet print no call. Their instructions
often hold an example: an object of two entries, the one a name, the other arguments, between marks. What it says cannot be
proven.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..ask.oracle import Oracle
from ..ask.pieces import END, Field, list_tokens
from ..ask.question import Question
from ..ask.words import holds_word
from ..format import Json
from .draft import TURN, Draft, Link

_VALUE = r"""(<[^<>{}\n]*>|"[^"\n]*"|'[^'\n]*'|\{[^{}]*\}|\.\.\.)"""
_ENTRY = rf"""["'](\w+)["']\s*:\s*{_VALUE}"""
_EXAMPLE = re.compile(rf"\{{(\s*){_ENTRY}\s*,(\s*){_ENTRY}\s*\}}")
_NEAR = 80

_NAME, _ARGUMENTS = Field("name"), Field("arguments")
_CONTENT = Field("content", beside_calls=True)
_REASONING, _REASONING_BESIDE = Field("reasoning"), Field("reasoning", beside_calls=True)


class Example(NamedTuple):
    """A call of the instructions: what stands before its name, between both, and behind the arguments."""

    opening: str
    between: str
    closing: str


def learn_instructions(draft: Draft, oracle: Oracle) -> bool:
    """Learn calls from an example in the instructions; False where there is none that can be understood."""
    example = find_example(oracle)
    if example is None:
        return False
    draft.codecs[TURN, _ARGUMENTS] = Json()
    draft.add(TURN, _NAME, example.between, _ARGUMENTS)
    draft.add(TURN, _ARGUMENTS, f"{example.closing}\n{example.opening}", _NAME, True)
    ends = [link.text for link in draft.edges[TURN].get(Field("content"), ()) if link.target == END]
    for stop in dict.fromkeys([*ends, ""]):
        draft.add(TURN, _ARGUMENTS, example.closing + stop, END)
    for links in draft.starts.values():
        for link in list(links):
            if link.target.kind == "content":
                links[Link(link.text + example.opening, _NAME, True)] = None
                links[link._replace(target=_CONTENT)] = None
    for space in ("\n\n", "\n", ""):
        draft.add(TURN, _CONTENT, space + example.opening, _NAME, True)
    for link in list(draft.edges[TURN].get(_REASONING, ())):
        if link.target.kind == "content":
            draft.add(TURN, _REASONING_BESIDE, link.text, _CONTENT)
            draft.add(TURN, _REASONING_BESIDE, link.text + example.opening, _NAME, True)
    draft.notes.append("calls are never printed; they were read from the example in the template's instructions")
    return True


def find_example(oracle: Oracle) -> Example | None:
    """Return the example of a call in the instructions."""
    prompts = [oracle.ask_prompt(Question(tools=tools)) for tools in (True, False)]
    told = prompts[0].whole if prompts[0] else ""
    plain = prompts[1].whole if prompts[1] else ""
    for match in _EXAMPLE.finditer(told):
        if match[0] not in plain and not holds_word(match[0]):
            example = _read_example(match, told[: match.start()], told[match.end() :])
            if example is not None:
                return example
    return None


def _read_example(match: re.Match[str], before: str, behind: str) -> Example | None:
    """Read an example; its marks are the last before it and the first behind it, and there must be both."""
    space, key, value, gap, other_key, other_value = match.groups()
    names = [_speaks_of_name(key, value), _speaks_of_name(other_key, other_value)]
    if names != [True, False]:
        return None
    array = before.rstrip().endswith("[")
    lead = before.rstrip().removesuffix("[").rstrip() if array else before.rstrip()
    mark = list_tokens(lead[-_NEAR:])[-1] if lead else ""
    closing = behind.lstrip().removeprefix("]") if array else behind
    closed = next((token for token in list_tokens(closing[:_NEAR]) if not token.isspace()), "")
    if not _is_mark(mark) or not _is_mark(closed):
        return None
    opening = mark + before[before.rindex(mark) + len(mark) :]
    closing = behind[: behind.index(closed) + len(closed)]
    return Example(
        opening=f'{opening}{{{space}"{key}": "',
        between=f'",{gap}"{other_key}": ',
        closing="}" + closing,
    )


def _speaks_of_name(key: str, value: str) -> bool:
    return "name" in key.lower() or ("name" in value.lower() and not value.startswith("{"))


def _is_mark(token: str) -> bool:
    return len(token) > 2 and not token[0].isalnum() and any(map(str.isalnum, token))
