"""Where the prompt ends and the model's text starts, in a render of a conversation with its answer.

Usually the render with the answer simply continues the one that asks for it. Where it does not, because the prompt opens
reasoning that the history leaves out, or because the history is spaced differently, the place is found by comparing:
with the prompt, and with what stands before an answer of content alone.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

from conversations import EARLIER_ANSWER, QUESTION, RESULT, Fields
from rendering import DUMPED, Shape, Template, make_assistant, make_following, make_history, make_tools

Switches = tuple[tuple[str, Any], ...]

# Where a text may be cut without cutting a marker: brackets that hold no line break and no bracket are kept whole.
_SIGNS = {kind: [chr(i) for i in range(0x80, 0x10000) if unicodedata.category(chr(i)) == kind] for kind in ("Ps", "Pe")}
_OPENING, _CLOSING = (re.escape("".join(signs)) for signs in (["<[«", *_SIGNS["Ps"]], [">]»", *_SIGNS["Pe"]]))
_BETWEEN = r"(?P<signs>[^\w\s]{2,8}) \w+(?: \w+){0,2} (?P=signs)"  # words in a line of signs
_TOKEN = re.compile(
    rf"[{_OPENING}][^{_OPENING}{_CLOSING}\n]{{1,80}}[{_CLOSING}]|§[^§\n]{{1,80}}§|{_BETWEEN}|\w+|\s|.", re.DOTALL
)
_CONTENT = "ANCHORNEEDLE"
_FARTHEST = 80


@dataclass(frozen=True)
class Setting:
    """All that a render depends on beside the answer."""

    shape: Shape
    history: str = "user"
    switches: Switches = ()
    tools: str = "plain"


@dataclass(frozen=True)
class Split:
    """The prompt, the text after it up to the end of the render, and whether the prompt is the one that is generated."""

    prompt: str
    rest: str
    exact: bool


class Oracle:
    """A template, asked about settings."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self._prompts: dict[Setting, str | None] = {}
        self._silent: dict[Setting, str | None] = {}
        self._content: dict[Setting, tuple[str, str, str]] = {}

    def render_prompt(self, setting: Setting) -> str | None:
        """The render that asks for an answer."""
        if setting not in self._prompts:
            messages = make_history(setting.history, setting.shape)
            tools = make_tools(setting.tools, setting.shape)
            self._prompts[setting] = self.template.render(messages, tools, True, dict(setting.switches))
        return self._prompts[setting]

    def render_told(self, setting: Setting, word: str) -> str | None:
        """The render that asks for an answer, with a word said in a system message."""
        messages = make_history(setting.history, replace(setting.shape, system=True), word)
        tools = make_tools(setting.tools, setting.shape)
        return self.template.render(messages, tools, True, dict(setting.switches))

    def render_full(self, setting: Setting, fields: Fields | None) -> str | None:
        """The render with an answer in it, and without a generation prompt."""
        shape = setting.shape
        messages = make_history(setting.history, shape)
        if fields is not None:
            first = int(setting.history == "tool")
            messages = [*messages, make_assistant(fields, shape, first), *make_following(fields, shape, first)]
        full = self.template.render(messages, make_tools(setting.tools, shape), False, dict(setting.switches))
        return None if full is None or DUMPED in full else full

    def render_silent(self, setting: Setting) -> str | None:
        """The render that neither has an answer nor asks for one."""
        if setting not in self._silent:
            self._silent[setting] = self.render_full(setting, None)
        return self._silent[setting]

    def split(self, setting: Setting, fields: Fields) -> Split | None:
        """Where the answer starts; None if the template refuses it or prints it nowhere after what it answers."""
        prompt, full = self.render_prompt(setting), self.render_full(setting, fields)
        if prompt is None or full is None:
            return None
        if full.startswith(prompt):
            return Split(prompt, full[len(prompt) :], True)
        asked = RESULT if setting.history == "tool" else QUESTION
        setting = replace(setting, shape=replace(setting.shape, follow="nothing"))
        silent = self.render_silent(setting)
        if asked not in prompt or asked not in full or silent is None or asked not in silent:
            return None
        ending, following, resting = _cut_after(prompt, asked), _cut_after(full, asked), _cut_after(silent, asked)
        before, after, closing = self._read_content(setting, asked)
        common = find_common_start(ending, following)
        needed = len(resting)
        if ending == resting:
            needed = find_common_start(before, after) if setting.history != "tool" else len(ending)
        left = ending[common:].strip()
        # An answer before the end of the prompt is part of a question about it.
        if left and closing.endswith(left) and not closing.endswith(ending.strip()):
            return None
        if common > needed and ending[needed:common].strip():
            return Split(full[: len(full) - len(following) + common], following[common:], False)
        anchor = _find_anchor(before, after, ending)
        if anchor and anchor in following:
            return _split_at(anchor, prompt, ending, following)
        if fields.calls and full.startswith(silent) and before.startswith(ending):
            return Split(prompt, full[len(silent) :], False)
        return None

    def find_closing(self, setting: Setting) -> str:
        """What stands after the question where no answer is asked for, if it is the same as where one is."""
        prompt, silent = self.render_prompt(setting), self.render_silent(setting)
        asked = RESULT if setting.history == "tool" else QUESTION
        return _cut_after(prompt, asked) if prompt and prompt == silent and asked in prompt else ""

    def read_after(self, setting: Setting) -> str:
        """What stands between an answer and the next question."""
        later = self.render_prompt(replace(setting, history="later")) or ""
        return _cut_after(later, EARLIER_ANSWER).partition(QUESTION)[0] if EARLIER_ANSWER in later else ""

    def _read_content(self, setting: Setting, asked: str) -> tuple[str, str, str]:
        """What stands before an answer of content, between an answer and the next question, and after the last answer."""
        if setting not in self._content:
            full = self.render_full(setting, Fields(content=_CONTENT)) or ""
            before, _, closing = _cut_after(full, asked).partition(_CONTENT) if asked in full else ("", "", "")
            self._content[setting] = (before if _CONTENT in full else ""), self.read_after(setting), closing.rstrip()
        return self._content[setting]


def _cut_after(text: str, words: str) -> str:
    return text[text.rfind(words) + len(words) :]


def _find_anchor(before: str, after: str, ending: str) -> str | None:
    """The longest end of what stands before an answer that the prompt also ends with, or nearly so.

    It has to be more than what stands before a question, too: that says nothing about who is to speak.
    """
    least = len(find_common_end(before, after).strip())
    for start in find_starts(before):
        anchor = before[start:].strip()
        near = ending.rfind(anchor)
        if len(anchor) > least and near >= 0 and len(ending) - near - len(anchor) <= _FARTHEST:
            return anchor
    return None


def _split_at(anchor: str, prompt: str, ending: str, following: str) -> Split:
    """Both texts cut after the anchor, and after what they have in common behind it."""
    asks, answers = _cut_after(ending, anchor), following[following.find(anchor) + len(anchor) :]
    common = find_common_start(asks, answers)
    return Split(prompt[: len(prompt) - len(asks) + common], answers[common:], False)


def is_token(text: str) -> bool:
    """Whether a text is one marker or one word."""
    return bool(text) and len(find_starts(text)) == 2


def find_starts(text: str) -> list[int]:
    """Where a text may be cut."""
    return [match.start() for match in _TOKEN.finditer(text)] + [len(text)]


def count_common(one: str, two: str) -> int:
    """How many characters two texts start with that are the same."""
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def find_common_start(one: str, two: str) -> int:
    """How long two texts are the same, cut back to where neither is amid a token."""
    return max(i for i in set(find_starts(one)) & set(find_starts(two)) if i <= count_common(one, two))


def find_common_end(one: str, two: str) -> str:
    """What both texts end with, from the first place on where neither is amid a token."""
    length = count_common(one[::-1], two[::-1])
    ends = {len(one) - i for i in find_starts(one)} & {len(two) - i for i in find_starts(two)}
    return one[len(one) - max(i for i in ends if i <= length) :]
