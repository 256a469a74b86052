"""From the tokens of one turn to the prompt of the next, with the earlier tokens untouched.

Rendering a conversation again and tokenizing it gives other tokens than the model wrote, wherever template or tokenizer
do not bring back its text. A bridge appends instead: what closes the turn, where the model was cut off before it; what the
template puts behind it; the new messages; and the generation prompt.

Nothing of that is known beforehand. The new messages are rendered behind a turn like the one that was completed (with the
same calls, names and ids), in several histories. What stands behind the end of the turn must be the same in all of them:
then it does not depend on the history, which need not be known. The seam is a token that ends the turn, so nothing merges
across it. Where one of this does not hold, there is no bridge, and the reason is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from ..ask.question import Call, Question, build_turn, wrap_text
from ..ask.renderer import Renderer
from ..ask.words import USER, make_id, make_word
from ..derive.record import make_shape
from ..errors import BudgetError, TemplateError
from ..format import ChatFormat
from .author import read_switches

_TAIL = 512
"""How many tokens of the prompt are looked at to learn what is open where the completion begins."""

_CONTENT, _REASONING, _KEY, _VALUE, _LAST = (make_word(kind) for kind in ("c", "r", "k", "v", "last"))


class Tokenizer(Protocol):
    """What is needed of a tokenizer: as transformers', or as thin as two functions."""

    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class Bridge:
    """The next prompt as token ids, or None with the reason; ``text`` is what was appended to the earlier tokens."""

    ids: tuple[int, ...] | None
    reason: str = ""
    text: str = ""


class _NoBridge(Exception):
    """Why there is no bridge."""


def bridge(
    renderer: Renderer,
    format: ChatFormat,
    tokenizer: Tokenizer,
    previous_prompt_ids: Sequence[int],
    completion_ids: Sequence[int],
    new_messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    faithful: bool = True,
    **kwargs: Any,
) -> Bridge:
    """Return the prompt of the next turn, which begins with the earlier ids; see :class:`Bridger`, which is made for it."""
    bridger = Bridger(renderer, format, tokenizer)
    return bridger.extend(previous_prompt_ids, completion_ids, new_messages, tools, faithful=faithful, **kwargs)


class Bridger:
    """Bridges the turns of one template with one tokenizer.

    Making one asks nothing: the format knows the shape in which the template takes its input.
    """

    def __init__(self, renderer: Renderer, format: ChatFormat, tokenizer: Tokenizer) -> None:
        self._renderer, self._format, self._tokenizer = renderer, format, tokenizer
        self._shape = make_shape(format.asking)
        self._switches = dict(read_switches(format.asking.switches))
        self._stops = self._list_tokens(format.stops)
        # What ends a message inside a turn, where one turn is several messages with headers of their own.
        header = format.header.strip()
        texts = [edge.text for edge in format.graph.turn.edges if header and header in edge.text]
        self._closers = self._list_tokens([text.partition(header)[0].strip() for text in texts])
        self._eos: int | None = getattr(tokenizer, "eos_token_id", None)

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """The tokens on which generation should stop."""
        return tuple(dict.fromkeys([*self._stops.values(), *([self._eos] if self._eos is not None else [])]))

    def extend(
        self,
        previous_prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        new_messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        faithful: bool = True,
        **kwargs: Any,
    ) -> Bridge:
        """Return the prompt of the next turn.

        ``completion_ids`` are what was generated behind ``previous_prompt_ids``, with or without the token that ends the
        turn; ``new_messages`` are of any role but the assistant's. With ``faithful`` there is no bridge where the template
        itself would print the earlier turns in another form now (without their reasoning, say); without it they stay as
        they are. Costs some ten renders; raises nothing that comes from the conversation.
        """
        try:
            if not previous_prompt_ids or not new_messages:
                raise _NoBridge("there is no earlier prompt, or no new message")
            if any(message.get("role") == "assistant" for message in new_messages):
                raise _NoBridge("a new message is the assistant's: what a model wrote is not to be tokenized again")
            ended, written = self._split_stop(completion_ids)
            turn, opened = self._read_turn(previous_prompt_ids, written, tools)
            render = partial(self._renderer, tools=tools, **{**self._switches, **kwargs})
            suffix, own = self._find_suffix(turn, new_messages, render, faithful)
            ids, text = self._close(ended, opened, suffix, own)
        except _NoBridge as error:
            return Bridge(None, str(error))
        return Bridge((*previous_prompt_ids, *completion_ids, *ids), "", text)

    def _close(self, ended: int | None, opened: bool, suffix: str, own: bool) -> tuple[list[int], str]:
        """Return the tokens that follow a completion that has ended with a token, or with none, and their text."""
        ids = list(self._encode(suffix))
        stop = next((text for text in (*self._stops, *self._closers) if suffix.startswith(text)), "")
        if not stop or ids[:1] != list(self._encode(stop)):
            raise _NoBridge("the end of the turn is no single token, so the tokens around it may merge")
        if ended is None:
            closing = list(self._encode(self._format.reasoning.end.text)) if opened and self._format.reasoning else []
            return [*closing, *ids], suffix
        if ended == ids[0] or own:  # where the model ended its turn with another token for that, it is as good
            return ids[1:], suffix[len(stop) :]
        if ended == self._eos:
            return ids, suffix
        raise _NoBridge("the model has begun a message of another role than the new one's")

    def _encode(self, text: str) -> Sequence[int]:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _list_tokens(self, texts: Sequence[str]) -> dict[str, int]:
        """Return those of the texts that are one token each, with their ids."""
        encoded = {text: list(self._encode(text)) for text in texts if text}
        return {text: ids[0] for text, ids in encoded.items() if len(ids) == 1}

    def _split_stop(self, completion_ids: Sequence[int]) -> tuple[int | None, Sequence[int]]:
        """Return the token that ends a completion, if one does, and the completion without it."""
        stops = {*self.stop_ids, *self._closers.values()}
        ended = completion_ids[-1] if completion_ids and completion_ids[-1] in stops else None
        written = completion_ids if ended is None else completion_ids[:-1]
        if set(written) & set(self.stop_ids):
            raise _NoBridge("the completion goes on behind a token that ends the turn")
        return ended, written

    def _read_turn(
        self, prompt_ids: Sequence[int], written: Sequence[int], tools: Sequence[Mapping[str, Any]] | None
    ) -> tuple[Question, bool]:
        """Return a turn with needles in the place of what was written, and whether its reasoning is still open."""
        prompt = self._tokenizer.decode(prompt_ids[-_TAIL:])
        parser = self._format.parser([dict(tool) for tool in tools] if tools is not None else None, prompt)
        deltas = [*parser.feed(self._tokenizer.decode(written)), *parser.finish()]
        kinds = {delta.kind for delta in deltas}
        calls = _make_calls([(str(delta.name), delta.id) for delta in deltas if delta.id is not None])
        # A turn that was cut off in its reasoning is closed as one with content: templates leave out one without.
        content = _CONTENT if "content" in kinds or not calls else None
        return Question(content=content, reasoning=_REASONING if "reasoning" in kinds else None, calls=calls), parser.in_reasoning

    def _find_suffix(
        self, turn: Question, new: Sequence[Mapping[str, Any]], render: Callable[..., str], faithful: bool
    ) -> tuple[str, bool]:
        """Return what the template prints from the end of the turn on, the same in several histories.

        And whether the turn has an end of its own, which does not begin the next message.
        """
        results = [message for message in new if message.get("role") == "tool"]
        if results and not turn.calls:
            named = [(str(result.get("name") or ""), str(result.get("tool_call_id") or "")) for result in results]
            turn = replace(turn, content=None, calls=_make_calls(named))
        known = [call.id for call in turn.calls]  # by its call or from itself
        unread = any(not message.get("name") and message.get("tool_call_id") not in known for message in results)
        told = turn
        if len(results) == len(turn.calls):  # the client's own ids, of calls that the model has given others or none
            ids = [str(result.get("tool_call_id") or call.id) for result, call in zip(results, turn.calls, strict=True)]
            told = replace(turn, calls=tuple(replace(call, id=id_) for call, id_ in zip(turn.calls, ids, strict=True)))
        other = told
        if unread and len(turn.calls) > 1:  # which call a result belongs to is not known, and must not matter
            other = replace(turn, calls=tuple(replace(call, name=call.name + "_other") for call in turn.calls))
        cases = zip(self._list_histories(), (told, other, told), strict=False)
        cut = [self._cut_suffix(history, build_turn(varied, self._shape), new, render, faithful) for history, varied in cases]
        suffixes = [suffix for suffix in cut if suffix is not None]
        if len(suffixes) < 2:
            raise _NoBridge("the template refuses such messages behind such a turn")
        if len(set(suffixes)) > 1:
            raise _NoBridge("what follows the turn depends on the history")
        return suffixes[0]

    def _list_histories(self) -> Iterator[list[dict[str, Any]]]:
        """List conversations before a turn: short and long, and with an answer and its reasoning in them."""
        thinks = self._format.reasoning is not None
        earlier = Question(reasoning="Because." if thinks else None, content="An earlier answer.")
        yield [self._say(USER)]
        yield [self._say("An earlier question, of many words."), build_turn(earlier, self._shape), self._say("Again.")]
        if self._format.capabilities.system_role:
            yield [{"role": "system", "content": "Be brief."}, self._say("Go on.")]

    def _say(self, text: str) -> dict[str, Any]:
        return {"role": "user", "content": wrap_text(text, self._shape)}

    def _cut_suffix(
        self,
        history: list[dict[str, Any]],
        answer: dict[str, Any],
        new: Sequence[Mapping[str, Any]],
        render: Callable[..., str],
        faithful: bool,
    ) -> tuple[str, bool] | None:
        """Render the new messages behind a turn, and return what is there from its end on; None where that is refused."""
        try:
            prompt = render(history, add_generation_prompt=True)
            closed = render([*history, answer], add_generation_prompt=False)
            full = render([*history, answer, *new], add_generation_prompt=True)
        except (TemplateError, BudgetError):
            return None
        needles = [needle for needle in (_REASONING, _CONTENT, _LAST) if needle in closed]
        if not needles:
            raise _NoBridge("the template does not print such a turn")
        last = max(needles, key=closed.rindex)
        if last not in full:
            raise _NoBridge("the template leaves such a turn out when the new messages follow")
        place, whole = full.rindex(last) + len(last), closed.rindex(last) + len(last)
        if faithful and not (full.startswith(prompt) and full[:place] == closed[:whole]):
            raise _NoBridge("the template would print the earlier turns in another form now")
        tail = full[place:]
        own = any(stop in closed[whole:] for stop in (*self._stops, *self._closers))
        for stops in (self._stops, self._closers):
            found = [tail.index(stop) for stop in stops if stop in tail]
            if found and (own or not tail[: min(found)].isspace()):
                return tail[min(found) :], own
        raise _NoBridge("the template prints no token at the end of the turn")


def _make_calls(named: Sequence[tuple[str, str]]) -> tuple[Call, ...]:
    """Make calls of the given names and ids, or of ids that most templates take; the last has a word of its own."""
    last = len(named) - 1
    return tuple(
        Call.of(name or make_word("fn"), given or make_id(number), {_KEY: _LAST if number == last else _VALUE})
        for number, (name, given) in enumerate(named)
    )
