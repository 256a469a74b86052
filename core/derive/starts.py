"""The states in which generation starts: one for each prompt that the switches can give.

Most prompts are followed by turns in the history, and those show how a turn begins. Where a prompt opens or closes
reasoning that the history leaves out, what follows it is guessed from what follows the shorter header that the history
shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import product

from ..ask.oracle import Oracle
from ..ask.pieces import Field, Link, find_shared_header
from ..ask.question import Question, Switches
from ..format.model import VALUE
from .draft import TURN, Draft, Links
from .hidden import Hidden, add_hidden, find_hidden
from .strings import strip_digits

_REASONING = (Field("reasoning"), Field("reasoning", beside_calls=True))


def learn_starts(draft: Draft, oracle: Oracle, settings: Iterable[Switches], echoed: Iterable[tuple[str, str]]) -> None:
    """Give each prompt a start: the usual one first, then those of the switches, then headers that only the history has.

    ``echoed`` are prompts in which a value is printed and nothing else changes, each with that value.
    """
    prompts: dict[str, Switches] = {}
    for switches, tools in product(settings, (True, False)):
        asked = oracle.ask_prompt(Question(switches=switches, tools=tools))
        if asked is not None:
            prompts.setdefault(asked.added, switches)
    shows = any(field.kind == "reasoning" for field in draft.edges[TURN])
    hidden = None if shows else find_hidden(oracle, list(prompts), list(draft.starts))
    if hidden is not None:
        add_hidden(draft, hidden)
    shown = dict(draft.starts)
    draft.starts.clear()
    for prompt, switches in prompts.items():
        draft.switches[prompt] = switches
        if prompt in shown and not _is_left_open(prompt, shown, hidden):
            draft.starts[prompt] = dict(shown[prompt])
        else:
            draft.starts[prompt] = _guess(draft, prompt, shown)
            draft.guessed.add(prompt)
    for prompt, links in shown.items():
        draft.starts.setdefault(prompt, _drop_unopened(links))
    _open_reasoning(draft, hidden)
    _find_values(draft, echoed)


def _find_values(draft: Draft, echoed: Iterable[tuple[str, str]]) -> None:
    """Note of prompts which word in them a switch gives: where another value is printed there, and nothing else changes."""
    for other, printed in echoed:
        before, _, behind = other.partition(printed)
        for prompt in draft.starts:
            value = prompt.removeprefix(before).removesuffix(behind)
            if behind and prompt == before + value + behind and VALUE.fullmatch(value):
                draft.values[prompt] = value


def _is_left_open(prompt: str, shown: dict[str, Links], hidden: Hidden | None) -> bool:
    """Whether a prompt ends with what opens reasoning, and only an answer is shown behind it: a last message which the template
    lets the model go on with, reasoning included."""
    opening = hidden.opening.strip() if hidden else ""
    answers = all(link.target.kind == "content" for link in shown[prompt])
    return bool(opening) and prompt.rstrip().endswith(opening) and answers


def _open_reasoning(draft: Draft, hidden: Hidden | None) -> None:
    """Let reasoning follow prompts behind which none is shown: where that leaves it to the model to open it, and where all that is
    shown begins with the end of reasoning, so that it stands open."""
    ends = _list_reasoning_ends(draft, draft.starts)
    for prompt, links in draft.starts.items():
        if any(link.target.kind == "reasoning" for link in links):
            continue
        opening = hidden.opening if hidden and hidden.opening not in prompt and hidden.end not in prompt else ""
        if opening or (links and all(any(link.text.lstrip().startswith(end) for end in ends) for link in links)):
            links.update({Link(opening, field): None for field in _REASONING})


def _drop_unopened(links: Links) -> Links:
    """Return what follows a header of the history without reasoning that begins as content does: a prompt opens that."""
    texts = {link.text for link in links if link.target.kind == "content"}
    return {link: None for link in links if link.target.kind != "reasoning" or link.text not in texts}


def _guess(draft: Draft, prompt: str, shown: dict[str, Links]) -> Links:
    """Return what may follow a prompt that no turn shows.

    If what it has beyond the header ends reasoning, it is as if the header had been printed; if it does not, reasoning is
    open.
    """
    headers = sorted((each for each in shown if each.strip() and each in prompt), key=len, reverse=True) or [""]
    beyond = {header: prompt[prompt.rfind(header) + len(header) :] for header in headers}
    ends = _list_reasoning_ends(draft, shown)
    opened = any(rest.strip() for rest in beyond.values())
    closed = any(_is_closed(draft, shown.get(header) or {}, rest, ends) for header, rest in beyond.items())
    if opened and ends and not closed:
        return {Link("", field): None for field in _REASONING}
    every = [link for links in shown.values() for link in links]
    found: Links = {}
    for header in headers:
        found |= {link: None for link in shown.get(header) or every if link.target.kind != "reasoning"}
        if closed:
            found |= _list_behind(draft, ends)
    return found or {link: None for link in every if link.target.kind != "reasoning"}


def _is_closed(draft: Draft, shown: Links, beyond: str, ends: Iterable[str]) -> bool:
    """Whether what a prompt has beyond a header ends reasoning: with all that ends it or the last mark of that, or as an empty
    block would end that is opened as the header's turns open theirs."""
    if any(end in beyond for end in ends):
        return True
    openers = [link.text for link in shown if link.target.kind == "reasoning"]
    if any(end.split()[-1:] == beyond.split()[-1:] and end.split()[-1] not in opener for end in ends for opener in openers):
        return True
    leaving = [link.text for field, links in draft.edges[TURN].items() if field.kind == "reasoning" for link in links]
    behind = [strip_digits(beyond).removeprefix(strip_digits(opener)) for opener in openers if opener.strip()]
    return any(rest and rest != strip_digits(beyond) and all(text.startswith(rest) for text in leaving) for rest in behind)


def _list_behind(draft: Draft, ends: Iterable[str]) -> Links:
    """Return what stands behind the end of reasoning where it differs from what a turn without reasoning begins with."""
    reasoning = [links for field, links in draft.edges[TURN].items() if field.kind == "reasoning"]
    cut = [(link, link.text.partition(end)[2].lstrip()) for links in reasoning for link in links for end in ends]
    return {link._replace(text=rest): None for link, rest in cut if rest and link.target.kind == "content"}


def _list_reasoning_ends(draft: Draft, starts: dict[str, Links]) -> list[str]:
    """Return what ends reasoning, whatever follows it, without the layout around it and without what opens a call elsewhere."""
    others = [links for field, links in draft.edges[TURN].items() if field.kind == "content"]
    openers = {link.text.strip() for links in (*others, *starts.values()) for link in links if link.opens_call}
    ends: dict[str, None] = {}
    for field, links in draft.edges[TURN].items():
        if field.kind == "reasoning" and links:
            texts = [link.text for link in links]
            for end in map(str.strip, (reduce(find_shared_header, texts), *texts)):
                bare = [end.removesuffix(opener).strip() for opener in openers if opener and end.endswith(opener)]
                ends.update(dict.fromkeys(filter(None, (*bare, end))))
    return list(ends)
