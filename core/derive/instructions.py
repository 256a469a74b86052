"""Calls that a template never prints: read from the example that its own instructions hold.

Some templates show the tools in the prompt and tell the model how to call them, and yet print no call. Their instructions
often hold an example: an object of two entries, the one a name, the other arguments, between marks. What it says cannot be
proven.
"""

from __future__ import annotations

import re

from ..ask.oracle import Oracle
from ..ask.pieces import END, Field, Link, list_tokens
from ..ask.question import Question
from ..ask.words import holds_word
from ..format import Json
from .draft import TURN, Draft

_VALUE = r"""(<[^<>{}\n]*>|"[^"\n]*"|'[^'\n]*'|\{[^{}]*\}|\.\.\.)"""
_ENTRY = rf"""["'](\w+)["']\s*:\s*{_VALUE}"""
_EXAMPLE = re.compile(rf"\{{(\s*){_ENTRY}\s*,(\s*){_ENTRY}\s*\}}")
_NEAR = 80

_NAME, _ARGUMENTS = Field("name"), Field("arguments")
_CONTENT = Field("content", beside_calls=True)
_REASONING, _REASONING_BESIDE = Field("reasoning"), Field("reasoning", beside_calls=True)


def learn_instructions(draft: Draft, oracle: Oracle) -> bool:
    """Learn calls from an example in the instructions; False where there is none that can be understood."""
    example = _find_example(oracle)
    if example is None:
        return False
    opening, between, closing = example
    draft.codecs[TURN, _ARGUMENTS] = Json()
    draft.add(TURN, _NAME, between, _ARGUMENTS)
    draft.add(TURN, _ARGUMENTS, f"{closing}\n{opening}", _NAME, True)
    ends = [link.text for link in draft.edges[TURN].get(Field("content"), ()) if link.target == END]
    for stop in dict.fromkeys([*ends, ""]):
        draft.add(TURN, _ARGUMENTS, closing + stop, END)
    for links in draft.starts.values():
        for link in list(links):
            if link.target.kind == "content":
                links[Link(link.text + opening, _NAME, True)] = None
                links[link._replace(target=_CONTENT)] = None
    for space in ("\n\n", "\n", ""):
        draft.add(TURN, _CONTENT, space + opening, _NAME, True)
    for link in list(draft.edges[TURN].get(_REASONING, ())):
        if link.target.kind == "content":
            draft.add(TURN, _REASONING_BESIDE, link.text, _CONTENT)
            draft.add(TURN, _REASONING_BESIDE, link.text + opening, _NAME, True)
    draft.notes.append("calls are never printed; they were read from the example in the template's instructions")
    return True


def _find_example(oracle: Oracle) -> tuple[str, str, str] | None:
    """Return what stands in the example of the instructions before the name, between it and the arguments, and behind these."""
    prompts = (oracle.ask_prompt(Question(tools=tools)) for tools in (True, False))
    told, plain = (prompt.whole if prompt else "" for prompt in prompts)
    found = (match for match in _EXAMPLE.finditer(told) if match[0] not in plain and not holds_word(match[0]))
    return next(filter(None, map(_read_example, found)), None)


def _read_example(match: re.Match[str]) -> tuple[str, str, str] | None:
    """Read an example; its marks are the last before it and the first behind it, and there must be both."""
    space, key, value, gap, other_key, other_value = match.groups()
    if not _speaks_of_name(key, value) or _speaks_of_name(other_key, other_value):
        return None
    before, behind = match.string[: match.start()], match.string[match.end() :]
    lead, closing = before.rstrip(), behind
    if lead.endswith("["):
        lead, closing = lead.removesuffix("[").rstrip(), behind.lstrip().removeprefix("]")
    mark = list_tokens(lead[-_NEAR:])[-1] if lead else ""
    closed = next((token for token in list_tokens(closing[:_NEAR]) if not token.isspace()), "")
    if not _is_mark(mark) or not _is_mark(closed):
        return None
    opening = f'{mark}{before[before.rindex(mark) + len(mark) :]}{{{space}"{key}": "'
    return opening, f'",{gap}"{other_key}": ', "}" + behind[: behind.index(closed) + len(closed)]


def _speaks_of_name(key: str, value: str) -> bool:
    return "name" in key.lower() or ("name" in value.lower() and not value.startswith("{"))


def _is_mark(token: str) -> bool:
    return len(token) > 2 and not token[0].isalnum() and any(map(str.isalnum, token))
