"""The steps from a renderer to the graph of a turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ask.oracle import Oracle
from ..ask.question import Question, Shape, Switches
from ..ask.shapes import find_reasoning_shape, find_shape, list_call_shapes, make_calls, make_test_call
from ..ask.switches import find_switches, list_settings
from ..errors import TemplateError
from ..format import TurnGraph
from .draft import Draft, finish
from .hidden import add_dress
from .instructions import learn_instructions
from .starts import learn_starts
from .stops import find_stops
from .strings import list_special
from .turns import Caller


@dataclass(frozen=True)
class Derivation:
    """The graph of a turn, and what was found out on the way.

    ``shape`` is the shape for turns without calls, ``calling`` those for turns with calls (one for each form of arguments
    that is printed in a way of its own), ``settings`` the switches that change something. ``hidden`` is set where
    reasoning is never printed and its marks were inferred, ``offers_tools`` where tools are shown to the model,
    ``from_instructions`` where calls were read from an example in the instructions, ``varies`` are the parts that are written
    otherwise under a switch of which nothing more is known.
    """

    graph: TurnGraph
    shape: Shape
    calling: tuple[Shape, ...]
    settings: tuple[Switches, ...]
    hidden: bool = False
    offers_tools: bool = False
    from_instructions: bool = False
    varies: frozenset[str] = frozenset()

    @property
    def usual(self) -> Shape:
        """The shape for turns with calls, or that for plain ones where no calls are printed."""
        return self.calling[0] if self.calling else self.shape


def derive(oracle: Oracle) -> Derivation:
    """Derive how the renderer of an oracle writes a turn, and tell what was found out on the way.

    Raises :class:`TemplateError` where it renders no plain conversation.
    """
    if not find_shape(oracle):
        reason = oracle.errors[0] if oracle.errors else "the message of the user or of the assistant is not printed"
        raise TemplateError(
            f"Deriving how turns are written: the template renders no plain conversation ({reason}). "
            "Check that it is a chat template."
        )
    refusals = len(oracle.errors)
    calling = list_call_shapes(oracle)
    refused = [] if calling else oracle.errors[refusals:]
    find_reasoning_shape(oracle, calling[0] if calling else None, [(), *list_settings(oracle.renderer)])
    calling = [replace(shape, reasoning=oracle.shape.reasoning) for shape in calling]
    settings, echoed, varies = find_switches(oracle, calling)
    draft = Draft(list_special(oracle.renderer.hints))
    plain = Caller(draft, oracle, oracle.shape)
    for switches in settings:
        plain.learn_plain(switches)
    plain.learn_longer()
    callers = _learn_calls(draft, oracle, calling, settings)
    plain.learn_prose()
    for shape in callers[:1]:
        caller = Caller(draft, oracle, shape)
        caller.learn_prose((make_test_call(shape),))
        for switches in settings:
            caller.learn_resumed(switches)
    learn_starts(draft, oracle, settings, echoed)
    add_dress(draft, oracle)
    instructed = not callers and learn_instructions(draft, oracle)
    told = (f"{part} under {', '.join(f'{name}={value!r}' for name, value in setting)}" for part, setting in varies.items())
    draft.notes += [f"a turn is written otherwise, which is not known: {each}" for each in told]
    offers_tools = _offers_tools(oracle)
    if offers_tools and not callers and not instructed:
        reason = f"the template refuses all turns with calls: {refused[0]}" if refused else "no call is ever printed"
        draft.notes.append(f"tools are shown to the model, and {reason}")
    draft.stops = find_stops(draft)
    return Derivation(
        finish(draft),
        oracle.shape,
        tuple(callers),
        tuple(settings),
        hidden=draft.hidden,
        offers_tools=offers_tools,
        from_instructions=instructed,
        varies=frozenset(varies),
    )


def _offers_tools(oracle: Oracle) -> bool:
    """Whether a template shows tools to the model."""
    prompts = [oracle.ask_prompt(Question(tools=tools)) for tools in (True, False)]
    return prompts[0] is not None and (prompts[1] is None or prompts[0].whole != prompts[1].whole)


def _learn_calls(draft: Draft, oracle: Oracle, shapes: list[Shape], settings: list[Switches]) -> list[Shape]:
    """Learn turns with calls in each shape in which they are printed in a way of their own."""
    learnt: list[Shape] = []
    for number, shape in enumerate(shapes):
        draft.named_ids |= shape.named_ids
        alike = learnt and _is_alike(oracle, shape, learnt[0])
        if not alike and Caller(draft, oracle, shape, "~" * number).learn(settings):
            learnt.append(shape)
    return learnt + [bare for shape in learnt[:1] if (bare := _learn_without_ids(draft, oracle, shape, settings))]


def _learn_without_ids(draft: Draft, oracle: Oracle, shape: Shape, settings: list[Switches]) -> Shape | None:
    """Learn turns whose calls have no ids, in the shape that is returned; None where they are refused, or none has one."""
    bare, other = replace(shape, ids=False), Draft(draft.special)
    if shape.named_ids or _is_alike(oracle, shape, bare) or not Caller(other, oracle, bare).learn(settings):
        return None
    return bare if draft.add_without_ids(other) else None


def _is_alike(oracle: Oracle, one: Shape, other: Shape) -> bool:
    """Whether calls are printed alike in two shapes."""
    counts = (2,), (0, 1)
    texts = ([oracle.render(Question(calls=make_calls(shape, count)), shape) for shape in (one, other)] for count in counts)
    return all(text is not None and text == same for text, same in texts)
