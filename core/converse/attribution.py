"""Which characters of a rendered prompt came from which message and field; the rest is scaffold.

The renderer is asked, and nothing is known about how it works. Characters that stand nowhere in the conversation are put
into the fields, one before and one behind each text, and the conversation is rendered again. Where taking these *marks* out
gives exactly the plain render, the template did with the marked fields what it does with the plain ones, and the marks
show where each begins and ends. So every span is proven by the render it belongs to.

A template may look at a field: trim it, cut it at a marker, compare it. Then marks change what it does, and the renders
differ. The fields of one kind are marked together, and halved until those that cannot be marked at their ends stand
alone. Such a field is marked inside, at every place that changes nothing; characters beside the outermost mark are left
out or exchanged for others, to see whether they are printed. Numbers and the words true, false and null are exchanged for
an unmistakable number. What cannot be told even so is listed as uncertain.

What selects how a message is printed and is not text of its own (``role``, ``type``) counts as scaffold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..ask.pieces import list_tokens
from ..ask.renderer import Renderer
from ..errors import BudgetError, TemplateError
from ..format.cut import cut_common_start, find_common_start
from .marks import Changes, Field, Search, Span, change_fields, group_leaves, list_leaves


@dataclass(frozen=True)
class Attribution:
    """A render, and where its characters came from.

    ``spans`` are in the order of the text and do not overlap; what is in none of them is scaffold. ``absent`` are the
    fields of which nothing is printed, and ``uncertain`` those whose place could not be told: their text, if it is
    printed, stands outside of the spans.
    """

    text: str
    spans: tuple[Span, ...]
    absent: tuple[Field, ...] = ()
    uncertain: tuple[Field, ...] = ()

    def cut(self) -> Iterator[tuple[str, Span | None]]:
        """Cut the whole text into the spans and the scaffold between them (None)."""
        position = 0
        for span in self.spans:
            if span.start > position:
                yield self.text[position : span.start], None
            yield self.text[span.start : span.end], span
            position = span.end
        if position < len(self.text):
            yield self.text[position:], None


@dataclass(frozen=True)
class Written:
    """What the assistant wrote in one message of a render: its fields, the markers around them and the end of turn."""

    start: int
    end: int
    message: int


def attribute(
    renderer: Renderer,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    **kwargs: Any,
) -> Attribution:
    """Render a conversation and tell for each character from which field it came.

    Costs three renders where the template prints the fields as they are, some ten for each field that it trims or cuts,
    and ``600`` at most; what is not told by then is uncertain. Raises :class:`TemplateError` and :class:`BudgetError`
    where the conversation itself cannot be rendered.
    """
    text = renderer(messages, tools, add_generation_prompt, **kwargs)
    leaves = [*list_leaves(("messages",), messages), *list_leaves(("tools",), tools or ())]

    def render(changes: Changes) -> str | None:
        changed = change_fields(("messages",), messages, changes), tools and change_fields(("tools",), tools, changes)
        try:
            return renderer(*changed, add_generation_prompt, **kwargs)
        except (TemplateError, BudgetError):
            return None

    search = Search(text, render, renderer.hints.constants, leaves)
    for group in group_leaves(leaves):
        search.solve(group)
    search.confirm_absent()
    spans = tuple(sorted(search.spans, key=lambda span: (span.start, span.end)))
    uncertain = set(search.uncertain)
    for first, second in pairwise(spans):
        if second.start < first.end:  # two fields claim the same characters: neither is certain
            uncertain |= {first.field, second.field}
    return Attribution(
        text,
        tuple(span for span in spans if span.end > span.start and span.field not in uncertain),
        tuple(leaf.field for leaf in search.absent),
        tuple(leaf.field for leaf in leaves if leaf.field in uncertain),
    )


def find_written(
    renderer: Renderer,
    attribution: Attribution,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    stops: Sequence[str] = (),
    **kwargs: Any,
) -> tuple[Written, ...]:
    """Return what the assistant wrote in a conversation that was attributed, for each message of which text is printed.

    What was written begins behind what the generation prompt would have been, or as much of it as the render has, and ends
    with what closes the turn; white space behind that is layout. ``stops`` are the strings on which generation stops
    (``format.stops``): where a turn has no end of its own, the model writes what begins the next message, if that is
    one of them. Of a message whose fields are printed apart, it is the first part. Together these are the mask of a loss.
    Costs three renders for each message of the assistant's.
    """

    def render(count: int, prompt: bool) -> str:
        try:
            return renderer(messages[:count], tools, prompt, **kwargs)
        except (TemplateError, BudgetError):
            return ""

    written = []
    for number, message in enumerate(messages):
        if message.get("role") == "assistant":
            prompt, added = render(number, True), render(number, False)
            added = prompt[len(added) :] if prompt.startswith(added) else ""
            found = _find_written(attribution, number, prompt, added, render(number + 1, False), stops)
            written += [found] if found else []
    return tuple(written)


def _find_written(
    attribution: Attribution, number: int, prompt: str, added: str, closed: str, stops: Sequence[str]
) -> Written | None:
    """Find what the assistant wrote in one message.

    ``prompt`` is the conversation before it with the generation prompt, ``added`` what that adds, and ``closed`` the
    conversation up to its end.
    """
    text, spans = attribution.text, attribution.spans
    first = next((index for index, span in enumerate(spans) if span.field.message == number), None)
    if first is None:
        return None
    before = spans[first - 1] if first else None
    begin = before.end if before else 0
    last = first
    # What the later messages print of this one (the name of a tool beside its result) it has not written.
    shared = begin + find_common_start(text[begin:], _cut_behind(closed, text, before))
    while last + 1 < len(spans) and spans[last + 1].field.message == number:
        if spans[last + 1].end > shared >= spans[last].end:
            break
        last += 1
    lead = text[begin : spans[first].start]
    tail = text[spans[last].end : spans[last + 1].start if last + 1 < len(spans) else len(text)]
    start = begin + _measure_prompt(lead, _cut_behind(prompt, text, before), added)
    closing = _measure_closing(tail, _cut_behind(closed, text, spans[last]), added)
    if not any(stop in tail[:closing] for stop in stops):
        closing += max((len(stop) for stop in stops if tail.startswith(stop, closing)), default=0)
    return Written(start, spans[last].end + closing, number)


def _cut_behind(rendered: str, text: str, span: Span | None) -> str:
    """Return what another render has behind a span of the text."""
    if span is None:
        return rendered
    if rendered.startswith(text[: span.end]):
        return rendered[span.end :]
    return rendered.rpartition(text[span.start : span.end])[2]


def _measure_prompt(lead: str, prompt: str, added: str) -> int:
    """Return how much of the scaffold before a message is the generation prompt."""
    if lead.startswith(prompt):
        return len(prompt)
    if added and added in lead:
        return lead.rindex(added) + len(added)
    # An opening bracket belongs to what it opens, which is not the prompt's where the two differ behind it.
    return len(cut_common_start([lead, prompt]).rstrip("<[{("))


def _measure_closing(tail: str, closed: str, added: str) -> int:
    """Return how much of the scaffold behind a message closes it.

    That is what stands there, too, where nothing follows; or else the first marker, unless it opens the next message.
    """
    closing = closed.rstrip() if tail.startswith(closed.rstrip()) else cut_common_start([tail, closed])
    opener, mark = (next(iter(list_tokens(text.strip())), "") for text in (added, tail))
    if opener and opener in closing[1:]:
        closing = closing[: closing.index(opener, 1)]
    if not closing.strip() and closed.strip() and mark != opener and len(mark) > 2 and not mark[0].isalnum():
        closing = tail[: tail.index(mark) + len(mark)]
    return len(closing.rstrip())


def mark_tokens(ranges: Iterable[tuple[int, int]], offsets: Sequence[tuple[int, int]]) -> list[bool]:
    """Tell for each token whether any of its characters is in one of some ranges of the text.

    ``offsets`` are the places of the tokens in the text, as ``return_offsets_mapping`` gives them. A token across the
    border of a range counts as inside, as in transformers' ``return_assistant_tokens_mask``.
    """
    return [number is not None for number in _list_owners(sorted(ranges), offsets)]


def attribute_tokens(attribution: Attribution, offsets: Sequence[tuple[int, int]]) -> list[Span | None]:
    """Return for each token the span that its first character of any field is in; None for scaffold."""
    spans = attribution.spans
    owners = _list_owners([(span.start, span.end) for span in spans], offsets)
    return [None if number is None else spans[number] for number in owners]


def _list_owners(ranges: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]]) -> Iterator[int | None]:
    """Return for each token the number of the first range that it has a character of; the ranges are in order."""
    number = 0
    for start, end in offsets:
        while number < len(ranges) and ranges[number][1] <= start:
            number += 1
        yield number if number < len(ranges) and start < end and ranges[number][0] < end else None
