"""Reasoning that a template only speaks of: it prints none, but its prompt opens it, or it cuts it out of earlier turns.

What ends such reasoning is, in this order: what one prompt has beyond another that it begins with (reasoning that is
opened and closed, and only opened); a text of the template's that makes it drop the content before it; the mirror image of
what the prompt opens; a pair of marks in the template's own texts that is called as the field of a message is that carries
reasoning, or as the beginning of it; the one mark that the instructions name in a sentence, where the prompt speaks of
reasoning. None of this is shown by a turn, and so none of it is proven. Nor is what a model writes around its answers where the
template takes a pair of marks off earlier ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import NamedTuple

from ..ask.oracle import Oracle
from ..ask.pieces import END, Field, list_tokens
from ..ask.question import REASONING_FIELDS, Question, Switches
from ..ask.switches import list_settings
from ..ask.words import make_word
from ..format.chat_format import UNPRINTED
from ..format.cut import take_letters
from .draft import TURN, Draft

_LONGEST = 60
_SHORTEST = 4
_BEHIND = (" ", "\n", ".", ",", ";")  # what stands behind a mark amid a sentence


class Hidden(NamedTuple):
    """What opens reasoning and what ends it, as far as that is known."""

    opening: str
    end: str
    source: str


def find_hidden(oracle: Oracle, prompts: Sequence[str], headers: Sequence[str]) -> Hidden | None:
    """Return what ends reasoning that no turn shows, and what opens it."""
    beyond = _list_beyond(prompts, headers)
    known = _find_closed(beyond) or _find_cut(oracle, beyond)
    for each in () if known else beyond:
        mirror = _find_mirror(each.strip(), oracle)
        closes = mirror in map(str.strip, beyond) and len(mirror) < len(each.strip())  # one prompt opens it, another one closes it
        if mirror and not closes:
            return Hidden(each, mirror, "it mirrors what the prompt opens")
    return known or _find_spoken(oracle) or _find_named(oracle, beyond)


def _find_named(oracle: Oracle, beyond: Sequence[str]) -> Hidden | None:
    """Return the one mark that the instructions name amid a sentence, where a prompt speaks of reasoning that no turn shows."""
    opening = next((each for each in beyond if any(map(_means_reasoning, each.split()))), "")
    prompt = oracle.render(Question(content=make_word("c"))) if opening else None
    tokens = list_tokens(prompt or "")
    places = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    amid = (mark for word, blank, mark, behind in places if word.isalnum() and blank == " " and behind in _BEHIND)
    named = {mark for mark in amid if _may_be_marker(mark) and take_letters(mark)}
    return Hidden(opening, named.pop(), "the instructions name it, and a prompt speaks of reasoning") if len(named) == 1 else None


def _find_spoken(oracle: Oracle) -> Hidden | None:
    """Return the pair of marks that the template's own texts call by the name of reasoning."""
    prompt = oracle.render(Question(content=make_word("c")))
    for text in [*sorted(oracle.renderer.hints.constants), prompt or ""]:
        marks = [token for token in dict.fromkeys(list_tokens(text)) if _may_be_marker(token) and _means_reasoning(token)]
        for opening, end in pairwise(marks):
            if take_letters(opening) == take_letters(end):
                return Hidden(opening, end, "the template speaks of it")
    return None


def _means_reasoning(mark: str) -> bool:
    word = take_letters(mark).lower()
    return len(word) >= _SHORTEST and any(name.startswith(word) for name in REASONING_FIELDS)


def _list_beyond(prompts: Sequence[str], headers: Sequence[str]) -> list[str]:
    """Return what prompts have beyond the headers that the history shows."""
    found: dict[str, None] = {}
    for prompt in prompts:
        begun = [header for header in headers if prompt.startswith(header)]
        begun = [header for header in begun if header.strip()] or begun
        found.update(dict.fromkeys(rest for header in begun if (rest := prompt[len(header) :]).strip()))
    return list(found)


def _find_closed(beyond: Sequence[str]) -> Hidden | None:
    """Return the two halves of what a prompt opens and closes at once."""
    for closed, opened in permutations(beyond, 2):
        rest = closed.strip()[len(opened.strip()) :].strip()
        if rest and closed.startswith(opened.strip()):
            return Hidden(opened, rest, "another prompt closes it at once")
    for closed in beyond:
        tokens = [token for token in list_tokens(closed) if not token.isspace()]
        if len(tokens) == 2 and take_letters(tokens[0]) == take_letters(tokens[1]) != "":
            opened = closed[: closed.index(tokens[0]) + len(tokens[0])]
            return Hidden(opened, tokens[1], "the prompt closes it at once")
    return None


def _find_cut(oracle: Oracle, beyond: Sequence[str]) -> Hidden | None:
    """Return the shortest text of the template's that makes it drop the content before it from a turn."""
    constants = sorted(filter(_may_be_marker, oracle.renderer.hints.constants), key=lambda text: (len(text), text))
    together = "".join(constants)
    for switches in [(), *list_settings(oracle.renderer)] if constants else ():
        if not any(_drops(oracle, lead, together, switches, all_of_it=True) for lead in ("", together)):
            continue
        for text in constants:
            end, mirror = text.strip(), _find_mirror(text.strip(), oracle)
            if any(_drops(oracle, lead, text, switches) for lead in ("", mirror)):
                opening = next((each for each in beyond if end not in each), _extend_opening(mirror, end, beyond))
                return Hidden(opening, end, "the template cuts out what stands before it")
    return None


def _extend_opening(opening: str, end: str, beyond: Sequence[str]) -> str:
    """Return what opens reasoning with what a prompt has behind it in a block that is empty otherwise."""
    blocks = (each[: each.rindex(end)] for each in beyond if opening and each.startswith(opening) and end in each[len(opening) :])
    return next(blocks, opening)


def _drops(oracle: Oracle, lead: str, text: str, switches: Switches, all_of_it: bool = False) -> bool:
    """Whether a template leaves out what stands between two texts, if only in the earlier of two turns; where it may leave
    out ``all_of_it``, what follows too."""
    before, behind = make_word("r"), make_word("c")
    rendered = oracle.render(Question(content=f"{lead}{before}{text}{behind}", switches=switches, follow="again"))
    return rendered is not None and rendered.count(before) < 2 and (all_of_it or rendered.count(behind) == 2)


def _may_be_marker(text: str) -> bool:
    stripped = text.strip()
    return 2 < len(stripped) < _LONGEST and not stripped.isalnum() and "\n" not in stripped


def _find_mirror(marker: str, oracle: Oracle) -> str:
    """Return the other half of a pair: of the template's own texts, or made by putting in a slash or taking it out."""
    tokens = [token for token in list_tokens(marker) if not token.isspace()]
    if len(tokens) != 1 or not take_letters(marker) or marker.isalnum():
        return ""
    alike = [text.strip() for text in sorted(oracle.renderer.hints.constants) if take_letters(text) == take_letters(marker)]
    alike = [text for text in alike if text != marker and len(list_tokens(text)) == 1]
    if alike:
        return min(alike, key=len)
    if "/" in marker:
        return marker.replace("/", "", 1)
    return re.sub(r"\w", lambda match: "/" + match[0], marker, count=1)


def add_dress(draft: Draft, oracle: Oracle) -> None:
    """Add the marks that a template takes off the content of earlier turns: the model writes them around its answers."""
    known = "".join(link.text for _, links in draft.list_links(TURN) for link in links)
    constants = {text.strip() for text in filter(_may_be_marker, oracle.renderer.hints.constants)}
    pairs = [(text, end) for text in sorted(constants) if (end := _find_mirror(text, oracle)) in constants and "/" in end]
    new = (pair for pair in pairs if not any(mark in known or _means_reasoning(mark) for mark in pair))
    for opening, closing in [pair for pair in new if _is_taken_off(oracle, *pair)][:1]:
        found = list(draft.list_links(TURN))
        ends = [link.text for source, links in found if source.kind == "content" for link in links if link.target == END]
        for links, link in [(each, link) for _, each in found for link in each]:
            over = [end for end in ends if link.target == END and link.text.endswith(end)]
            if link.target.kind == "content":
                links[link._replace(text=f"{link.text}{opening}\n")] = None
            elif over:  # calls may stand between the marks, too
                end = max(over, key=len)
                links[link._replace(text=f"{link.text.removesuffix(end)}\n{closing}{end}")] = None
        draft.notes.append(f"the model may write {opening} and {closing} around content: the template takes them off earlier turns")


def _is_taken_off(oracle: Oracle, opening: str, end: str) -> bool:
    """Whether a template leaves a pair of marks out of the content of the earlier of two turns, and no other pair."""
    word, letters = make_word("c"), take_letters(opening)
    pairs = [(opening, end), (opening.replace(letters, make_word("o")), end.replace(letters, make_word("o")))]
    contents = (word, *(f"{one}\n{word}\n{two}" for one, two in pairs))
    bare, *texts = (oracle.render(Question(content=content, follow="again")) or "" for content in contents)
    taken, kept = ([text.count(mark) - bare.count(mark) for mark in pair] for text, pair in zip(texts, pairs, strict=True))
    return bool(bare) and word in texts[0] and max(taken) < 2 and min(kept) == 2


def add_hidden(draft: Draft, hidden: Hidden) -> None:
    """Add the edges out of reasoning that no turn shows: to what follows the header where there is none."""
    links = [link for links in draft.starts.values() for link in links]
    for link in sorted(links, key=lambda link: link.opens_call or link.target.beside_calls):
        reasoning = Field("reasoning", beside_calls=link.opens_call or link.target.beside_calls)
        # A history without reasoning may print its end alone.
        spaces = () if link.text.strip().startswith(hidden.end) else ("\n\n", "\n", "")
        for text in [f"{hidden.end}{space}{link.text}" for space in spaces] or [link.text]:
            draft.add(TURN, reasoning, text, link.target, link.opens_call)
    draft.hidden = True
    draft.notes.append(f"{UNPRINTED}; what ends it was inferred ({hidden.source})")
