"""The oracle: asks a renderer, remembers the answers, and tells the turn from the prompt before it."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from ..errors import TemplateError
from ..format.cut import cut_common_end, cut_common_start, find_first, take_letters
from .budget import exceed
from .pieces import find_shared_header, list_tokens
from .question import Question, Shape, Switches, build_history, build_messages, build_tools
from .renderer import Renderer
from .words import LATER, RESULT, USER, make_word

Ends = Literal["", "answers", "messages"]
_ANSWER = make_word("an")
_MARKS = 64  # that may end an answer and begin what follows
_HEADER = 2048  # characters at the end of a prompt in which the header of a turn may begin


class Turn(NamedTuple):
    """A rendered turn.

    ``prompt`` is what the generation prompt adds, ``text`` what follows it. Where the history is not printed as the prompt
    begins it, ``exact`` is False, and ``prompt`` is what both have in common, whole words and brackets. Where only the end
    of the prompt is printed alike, ``header`` is what is common at its beginning, and ``between`` what stands between
    both.
    """

    prompt: str
    text: str
    exact: bool = True
    header: str = ""
    between: str = ""


class Prompt(NamedTuple):
    """A prompt up to where generation starts: the whole, and how much of it the generation prompt adds.

    ``trailing`` is what is printed behind answered conversations, too, asked for or not. ``ends`` is what it also stands behind
    within them, so that it is the end of that and no header of what comes next: nothing, answers, or all messages.
    """

    whole: str
    added: str
    trailing: str = ""
    ends: Ends = ""


class Oracle:
    """Asks a renderer. ``shape`` is the one in which it is asked; ``errors`` are its first refusals."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.shape = Shape()
        self.errors: list[str] = []
        self._texts: dict[tuple[Question, Shape], str | None] = {}
        self._prompts: dict[tuple[Question, Shape], Prompt | None] = {}
        self._tails: dict[Shape, str | None] = {}

    def ask_turn(self, question: Question, shape: Shape | None = None) -> Turn | None:
        """Return the turn as it is rendered, or None where the template refuses it; raises BudgetError for one that is too long."""
        shape = shape or self.shape
        text = self.render(question, shape)
        if text is None:
            return None
        plain = replace(question, calls=())
        usual = self.ask_prompt(plain, shape)
        if usual and not usual.ends:
            text = text.removesuffix(usual.trailing)
        turn = None
        # The question's tools may stand behind the user's words; history may be printed as if no switch was set.
        for other in (plain, question, replace(question, switches=()), replace(question, switches=(), tools=False)):
            own = self.ask_prompt(other, shape)
            turn = (own and _split(text, own, question)) or turn
            if turn and turn.exact:
                break
        most = self.renderer.budget.turn_characters
        if turn and len(turn.text) > most:
            raise exceed(f"Analysing a chat template found more than {most} characters in a short answer", "Budget.turn_characters")
        return turn and turn._replace(text=turn.text[: find_first(turn.text, (LATER, RESULT))])

    def ask_prompt(self, question: Question, shape: Shape | None = None) -> Prompt | None:
        """Return the prompt before a turn, or None where the template refuses it."""
        shape = shape or self.shape
        question = replace(question, reasoning=None, content=None, follow="")
        key = question, shape
        if key not in self._prompts:
            self._prompts[key] = self._make_prompt(question, shape)
        return self._prompts[key]

    def _make_prompt(self, question: Question, shape: Shape) -> Prompt | None:
        """Ask for a prompt, and where it is printed unasked, or more behind it than elsewhere, for what stands behind answers."""
        messages, tools = build_history(question, shape), self._build_tools(question, shape)
        whole = self._render(messages, tools, True, question.switches)
        bare = self._render(messages, tools, False, question.switches)
        if whole is None:
            return None
        added = _find_added(whole, bare)
        if whole != bare:
            return Prompt(whole, added, self._find_more(bare, question, shape) if bare else "")
        answered = self.render(replace(question, content=_ANSWER), shape) or ""
        common = cut_common_end([added, answered])
        trailing = common if common.strip() or common == added else ""
        usual = self.ask_prompt(replace(question, switches=()), shape) if question.switches else None
        if usual and not usual.trailing:  # a switch alone prints something behind all conversations
            return Prompt(whole, added, trailing)
        trailing, ends = self._tell_trailing(trailing, answered, question, shape)
        return Prompt(whole, trailing or added, trailing, ends)  # tools may stand before what is added

    def _find_more(self, bare: str, question: Question, shape: Shape) -> str:
        """Return what is printed behind a conversation without a generation prompt, whoever spoke last, and not behind a user's
        words alone; brackets by themselves may be those of the turn."""
        alone, tail = self._ask_tail(shape), _cut_tail(bare)
        if alone in (None, tail):
            return ""
        answered = self.render(replace(question, content=_ANSWER), shape) or ""
        common = cut_common_end([tail, answered])
        if (alone or "").endswith(common) or not take_letters(common):
            return ""
        trailing, ends = self._tell_trailing(common, answered, question, shape)
        return "" if ends else trailing

    def _tell_trailing(self, trailing: str, answered: str, question: Question, shape: Shape) -> tuple[str, Ends]:
        """Return what stands behind answered conversations without what ends the answer, and what it stands behind within them."""
        followed = self.render(replace(question, content=_ANSWER, follow="again"), shape) or ""
        behind_answer, later, behind_user = followed.partition(_ANSWER)[2].partition(_ANSWER)[0].partition(LATER)
        trailing = _cut_end(trailing, answered, behind_answer) if later else trailing
        return trailing, ("messages" if trailing in behind_user else "answers") if trailing in behind_answer else ""

    def _ask_tail(self, shape: Shape) -> str | None:
        """Return what stands behind a user's words alone; None where the template refuses them."""
        if shape not in self._tails:
            alone = self._render(build_history(Question(), shape), None, False, ())
            self._tails[shape] = None if alone is None else _cut_tail(alone)
        return self._tails[shape]

    def render(self, question: Question, shape: Shape | None = None) -> str | None:
        """Return the whole text of a turn and what surrounds it, without a generation prompt; None where it is refused."""
        shape = shape or self.shape
        key = question, shape
        if key not in self._texts:
            tools = self._build_tools(question, shape)
            self._texts[key] = self._render(build_messages(question, shape), tools, False, question.switches)
        return self._texts[key]

    @staticmethod
    def _build_tools(question: Question, shape: Shape) -> list[dict[str, Any]] | None:
        wanted = shape.tools and (question.tools or question.calls)
        return build_tools(question.calls, shape, question.told, question.returns) if wanted else None

    def _render(self, messages: Any, tools: Any, prompt: bool, switches: Switches) -> str | None:
        try:
            return self.renderer(messages, tools, prompt, **dict(switches))
        except TemplateError as error:
            if len(self.errors) < 20 and str(error) not in self.errors:
                self.errors.append(str(error))
            return None


def _find_added(whole: str, bare: str | None) -> str:
    """Return what a generation prompt adds behind what the user said, whatever it changes before that; where it is always printed,
    all behind it."""
    asked = max(RESULT, USER, key=whole.rfind)
    tail, shown = _cut_tail(whole), _cut_tail(bare or "")
    return tail[len(shown) :] if bare and asked in bare and tail.startswith(shown) and tail != shown else tail


def _cut_tail(text: str) -> str:
    """Return what stands behind what was asked or answered last."""
    return text.rpartition(max(RESULT, USER, key=text.rfind))[2]


def _cut_end(trailing: str, answered: str, behind_answer: str) -> str:
    """Return what stands behind answered conversations without what ends the answer: what answers have behind them that something
    follows, too, up to the first mark of which the conversation has one more, as it begins messages."""
    ended = answered.rpartition(_ANSWER)[2].removesuffix(trailing)
    shared = cut_common_start([trailing, behind_answer.removeprefix(ended)])
    marks = list(dict.fromkeys(mark for mark in list_tokens(shared) if take_letters(mark) and not mark.isalnum()))[:_MARKS]
    ends = answered.count(marks[0]) if marks else 0
    begins = next((mark for mark in marks if answered.count(mark) == ends + 1), "")
    return trailing[trailing.index(begins) :] if begins else trailing


def _split(text: str, prompt: Prompt, question: Question) -> Turn | None:
    """Tell the turn from the prompt before it; None where no beginning of a turn can be made out.

    A history may print the header of a turn in another way than a prompt does. Then, in this order: the prompt's addition
    stands somewhere before the first field; its end does, and that is no mark that it has elsewhere, too; its beginning
    does, with its last mark right behind it or alone; or the history prints no header at all.
    """
    rest, tail = _cut_asked(text, prompt.whole)
    if rest.startswith(tail):
        return Turn(prompt.added, rest[len(tail) :])
    added = prompt.added
    words = [question.reasoning, question.content, *(word for call in question.calls for word in (call.name, call.id))]
    region = rest[: find_first(rest, words)]
    place = region.rfind(added)
    if place >= 0 and added.strip():
        return Turn(added, rest[place + len(added) :])
    before = tail[: len(tail) - len(added)]
    followed = rest[len(before) :] if rest.startswith(before) else ""
    header = _find_header(added, followed) if followed else ""
    end, stop = _find_marked(added, region)
    if end.rstrip() and not added[stop:].strip():
        turn = rest[region.rfind(end) + len(end) :]
        if stop < len(added):
            return Turn(added, turn, True, end)
        between = followed[len(header) : len(followed) - len(turn)]
        return Turn(added, turn, True, header if header.strip() else "", between)
    if end and stop > added.rfind(header) + len(header):
        return Turn(end, rest[region.rfind(end) + len(end) :], False)
    if header.strip():
        turn = followed[len(header) :]
        ended = _find_ended(added[added.rfind(header) + len(header) :], turn)
        return Turn(added, turn[len(ended) :], True, header, ended) if ended else Turn(header, turn, False)
    header = _find_beginning(list_tokens(added), region)
    if header:
        return Turn(header, rest[region.rfind(header) + len(header) :], False)
    return Turn("" if added.strip() else added, followed, False) if followed else None


def _cut_asked(text: str, prompt: str) -> tuple[str, str]:
    """Return a render and a prompt from what is answered on; tools that stand before may differ."""
    asked = max(RESULT, USER, key=prompt.rfind)
    place = prompt.rfind(asked)
    start = text.find(asked) if asked == RESULT else text.rfind(asked)
    return (text[start:], prompt[place:]) if place >= 0 and start >= 0 else (text, prompt)


def _find_marked(added: str, region: str) -> tuple[str, int]:
    """Return the last of a prompt that also stands in a region, from a mark on that the prompt has only once, and where it ends.

    All marks of the prompt before it must stand in the region, too, in their order; else it is the header of something else.
    """
    tokens = list_tokens(added)
    at, stop, last, behind = 0, 0, "", 0
    for mark in tokens:
        stop += len(mark)
        if mark.isspace():
            continue
        place = region.find(mark, at)
        if place < 0:
            break
        at = place + len(mark)
        if tokens.count(mark) == 1 and any(map(str.isalnum, mark)):
            last, behind = mark, stop
    if not last:
        return "", 0
    shared = find_shared_header(added[behind:], region[region.rfind(last) + len(last) :])
    return last + shared, behind + len(shared)


def _find_ended(written: str, turn: str) -> str:
    """Return the last mark of a prompt, and what is behind it, if it ends a block with nothing in it and a turn of the history
    begins with that end alone."""
    marks = [token for token in list_tokens(written) if any(map(str.isalnum, token)) and not token.isalnum()]
    end = written[written.rfind(marks[-1]) :] if len(marks) > 1 else ""
    return end if turn.startswith(end) else ""


def _find_beginning(tokens: list[str], region: str) -> str:
    """Return the longest beginning of a prompt that stands in a region, if a mark is in it."""
    beginnings = ("".join(tokens[:place]) for place in range(len(tokens), 0, -1))
    return next((each for each in beginnings if each in region and any(map(str.isalnum, each))), "")


def _find_header(added: str, rest: str) -> str:
    """Return what a prompt and a turn of the history begin with; the prompt may say something to the user before that, of which the
    last is looked at."""
    last = added[-_HEADER:]
    starts = accumulate(map(len, list_tokens(last)), initial=0)
    shared = (find_shared_header(text, rest) for text in dict.fromkeys((added, *(last[start:] for start in starts))))
    return max((text for text in shared if text.strip()), key=lambda text: len(text.strip()), default="")
