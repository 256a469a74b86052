"""Bridges between turns: how many templates have one, and whether they are those that `renderers` writes by hand.

Tokenizers cannot be downloaded here, so each template gets one of its own: byte pairs learnt from the template, with its
markers as special tokens. A turn is written as the template prints it and bridged to a question or to the results of its
calls; the bridge must be what a full render has wherever that begins with the earlier text.

With `--rivals` (needs the package `renderers`), the same turns are bridged by the renderer that it has for a model, on the
templates that both know, with and without the token that ends the turn, and in the middle of it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from corpus import Source, load_corpus
from rendering import BOS, EOS
from tiny_model import find_markers, train
from tokenizers import AddedToken

from chat_autoparser import Renderer, load_renderer
from chat_autoparser.analysis import analyze
from chat_autoparser.ask.question import Question, build_history
from chat_autoparser.converse.author import CONTENT, REASONING, Author, Generation, make_calls
from chat_autoparser.converse.bridge import Bridger
from chat_autoparser.errors import AutoparserError
from chat_autoparser.format import ChatFormat


def make_tokenizer(text: str, markers: Sequence[str], name: str = "", eos: str = EOS) -> Any:
    """A byte-pair tokenizer learnt from a text, with some markers as special tokens."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = train(text, [])
    tokenizer.add_special_tokens([AddedToken(marker, normalized=False, special=True) for marker in dict.fromkeys(markers)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, name_or_path=name, bos_token=BOS, eos_token=eos)


class Plain:
    """The thin face of a tokenizer that a bridge needs; decoding keeps special tokens and spaces."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.eos_token_id: int | None = tokenizer.eos_token_id

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


class Case(NamedTuple):
    """A turn and what follows it."""

    name: str
    generation: Generation
    new: list[dict[str, Any]]


def list_cases(author: Author) -> Iterator[Case]:
    """Turns that are answered by a question or by results, and turns that are cut off."""
    thought = REASONING if author.format.reasoning else None
    asked = [{"role": "user", "content": "And tomorrow?"}]
    for name, question in (
        ("content", Question(content=CONTENT, tools=False)),
        ("reasoning, content", Question(content=CONTENT, reasoning=thought, tools=False)),
        ("call", Question(content=None, calls=make_calls(1, author.format.asking.named_ids))),
        ("reasoning, call", Question(content=None, reasoning=thought, calls=make_calls(1, author.format.asking.named_ids))),
        ("two calls", Question(content=None, calls=make_calls(2, author.format.asking.named_ids))),
    ):
        if (question.calls and not author.format.capabilities.tool_calls) or ("reasoning" in name and not thought):
            continue
        generation = author.write(question)
        if generation is None:
            continue
        results = [
            {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": f"Result {number}."}
            for number, call in enumerate(question.calls)
        ]
        yield Case(name, generation, results or asked)
        if name in ("content", "reasoning, content"):
            half = generation.text[: generation.text.index(CONTENT) + 6]
            yield Case(f"{name}, cut off", Generation(question, generation.prompt, half), asked)
        if name == "reasoning, content" and thought:
            half = generation.text[: generation.text.index(REASONING) + 10]
            yield Case("reasoning, cut off", Generation(question, generation.prompt, half), asked)


def load(source: Source) -> tuple[Renderer, ChatFormat, Author]:
    renderer = load_renderer(source.text, bos_token=BOS, eos_token=EOS)
    format = analyze(renderer)
    return renderer, format, Author(renderer, format)


def measure(source: Source) -> dict[str, str]:
    """What became of each case: "equal" to a full render, "kept" where there is none to compare with, or why not."""
    renderer, format, author = load(source)
    markers = [*find_markers(source.text), *format.stops, BOS, EOS]
    tokenizer = Plain(make_tokenizer(source.text, markers))
    bridger = Bridger(renderer, format, tokenizer)
    found = {}
    for case in list_cases(author):
        question, generation = case.generation.question, case.generation
        tools = author.choose_tools(question)
        prompt = tokenizer.encode(generation.prompt)
        completion = tokenizer.encode(generation.text + generation.stop)
        bridged = bridger.extend(prompt, completion, case.new, tools)
        if bridged.ids is None:
            found[case.name] = bridged.reason
            continue
        if list(bridged.ids[: len(prompt) + len(completion)]) != prompt + completion:
            found[case.name] = "THE EARLIER TOKENS ARE NOT KEPT"
            continue
        answer = author.answer(question)
        full = author.render([*build_history(question, author.shape), answer or {}, *case.new], tools, True, ())
        earlier = generation.prompt + generation.text + generation.stop
        if full is None or "cut off" in case.name or not full.startswith(earlier):
            found[case.name] = "kept"
        else:
            rendered = tokenizer.decode(bridged.ids)
            found[case.name] = "equal" if rendered == full else "NOT WHAT A FULL RENDER HAS"
    return found


def list_rivals() -> Iterator[tuple[str, Source]]:
    """The models that `renderers` knows by name and whose template is in the collection."""
    from renderers.base import MODEL_RENDERER_MAP

    named = {name: source for source in load_corpus() for name in source.names}
    for model in MODEL_RENDERER_MAP:
        source = named.get(model.replace("/", "-"))
        if source is not None:
            yield model, source


class _Recorder:
    """Stands for a tokenizer and notes which tokens are asked for."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.asked = inner, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        names = [tokens] if isinstance(tokens, str) else tokens
        self.asked += names
        return 5 if isinstance(tokens, str) else [5] * len(names)


def make_rival(model: str, source: Source, retention: str | None) -> tuple[Any, Any]:
    """The renderer of a model, with a tokenizer that has every token it asks for."""
    from renderers import create_renderer
    from renderers.configs import AutoRendererConfig

    markers = [*find_markers(source.text), BOS, EOS, "<|endoftext|>"]
    eos = "<|im_end|>" if "<|im_end|>" in source.text else "<|endoftext|>"
    config = AutoRendererConfig(thinking_retention=retention)
    recorder = _Recorder(make_tokenizer(source.text, markers, model, eos))
    try:
        create_renderer(recorder, config)
    except Exception as error:
        print(f"    (while recording: {type(error).__name__}: {str(error)[:100]})")
    tokenizer = make_tokenizer(source.text, [*markers, *recorder.asked], model, eos)
    tokenizer.chat_template = source.text
    return create_renderer(tokenizer, config), tokenizer


def compare(model: str, source: Source, *, everything: bool) -> Iterator[tuple[str, str]]:
    """For each case and form, what ours and theirs have in common."""
    rival, inner = make_rival(model, source, "all" if everything else None)
    renderer, format, author = load(source)
    tokenizer = Plain(inner)
    bridger = Bridger(renderer, format, tokenizer)
    for case in list_cases(author):
        generation = case.generation
        tools = author.choose_tools(generation.question)
        prompt = tokenizer.encode(generation.prompt)
        bare = bridger.extend(prompt, tokenizer.encode(generation.text), case.new, tools, faithful=not everything).text
        # Where a turn has no end of its own, generation stops at what begins the next message.
        stop = generation.stop or next((stop for stop in format.stops if bare.startswith(stop)), "")
        for ending in ("",) if "cut off" in case.name else dict.fromkeys((stop, "")):
            completion = tokenizer.encode(generation.text + ending)
            ours = bridger.extend(prompt, completion, case.new, tools, faithful=not everything)
            theirs = rival.bridge_to_next_turn(prompt, completion, case.new, tools=tools)
            name = case.name + ("" if ending else ", no end")
            if theirs is None or ours.ids is None:
                both = theirs is None and ours.ids is None
                yield name, "none" if both else "only ours" if theirs is None else f"only theirs: {ours.reason}"
            elif list(ours.ids) == list(theirs.token_ids):
                yield name, "equal"
            else:
                a, b = tokenizer.decode(ours.ids), tokenizer.decode(theirs.token_ids)
                start = len(tokenizer.decode(prompt + completion))
                yield name, f"{'other tokens' if a == b else 'other text'}: ours {a[start:]!r} theirs {b[start:]!r}"


def compare_renders(model: str, source: Source) -> dict[str, bool]:
    """What a whole conversation has in common: tokens, and the tokens that the model wrote, but for the prompt's own."""
    from renderers import create_renderer
    from renderers.configs import CustomRendererConfig

    rival, inner = make_rival(model, source, None)
    ours = create_renderer(inner, CustomRendererConfig(import_path="chat_autoparser.export.token_renderer:TokenRenderer"))
    author = load(source)[2]
    thought = REASONING if author.format.reasoning else None
    calls = make_calls(1, author.format.asking.named_ids) if author.format.capabilities.tool_calls else ()
    turn = Question(content=CONTENT, reasoning=thought, calls=calls)
    messages = [*build_history(turn, author.shape), author.answer(turn) or {}]
    for call in calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": "Result."})
    if calls:
        messages.append(author.answer(Question(content="Done.", reasoning=thought)) or {})
    tools = author.choose_tools(turn)
    one, other = (each.render(messages, tools=tools) for each in (ours, rival))
    found = {"tokens": list(one.token_ids) == list(other.token_ids)}
    if found["tokens"] and other.sampled_mask:
        found["written"] = all(his or not mine for mine, his in zip(one.sampled_mask, other.sampled_mask, strict=True))
        found["written, with what the prompt opens"] = list(one.sampled_mask) == list(other.sampled_mask)
    return found


def print_rivals(only: str) -> None:
    totals: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for model, source in list_rivals():
        if only.lower() not in model.lower():
            continue
        print(model)
        try:
            renders = compare_renders(model, source)
            print(f"  renders: {renders}")
            same = renders["tokens"]
            totals[same].update(f"{what}: {'equal' if equal else 'differ'}" for what, equal in renders.items())
            for everything in (False, True):
                for name, result in compare(model, source, everything=everything):
                    totals[same][f"bridge: {result.partition(':')[0]}"] += 1
                    if result not in ("equal", "none"):
                        print(f"  {'all' if everything else 'as the template'} | {name} | {result}")
        except Exception as error:
            print(f"  left out: {type(error).__name__}: {str(error)[:150]}")
    print("where theirs renders what the template does:", dict(totals[True]))
    print("where it renders another text, as for another version of the template:", dict(totals[False]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Bridge turns of chat templates.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth template")
    parser.add_argument("--rivals", action="store_true", help="compare with the package `renderers`")
    options = parser.parse_args()
    if options.rivals:
        print_rivals(options.only)
        return 0
    totals: dict[str, Counter[str]] = {}
    wrong = 0
    for source in load_corpus(options.only)[:: options.every]:
        try:
            found = measure(source)
        except AutoparserError:
            continue
        for name, result in found.items():
            totals.setdefault(name, Counter())[result] += 1
            if result.isupper():
                wrong += 1
                print(f"{source.name} | {name} | {result}")
    for name, counts in totals.items():
        print(name)
        for result, number in counts.most_common():
            print(f"  {number:>5} {result}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
