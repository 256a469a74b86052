"""The halves of the vLLM plugin, made and called as vLLM's own parser makes and calls them, without a server.

The tokenizers are made for each template; what is generated is what the template renders for known fields, and these are
the expected message.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conversations import JsonObject
from judge import find_fault, take_meaning
from vllm_model import (
    BURSTS,
    CALL,
    PLAIN,
    TOOLS,
    Model,
    adjust,
    find_case,
    load_shape,
    make_case,
    make_prompt,
    make_request,
    note,
    shapes,
)

from chat_autoparser.serve import Outbox
from chat_autoparser.serve.counters import COUNTERS
from chat_autoparser.vllm_plugin import messages, reader
from chat_autoparser.vllm_plugin.halves import AutoReasoningParser
from chat_autoparser.vllm_plugin.messages import CutCall, CutMessage

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


UNSEEN = Path(__file__).parent.parent / "unseen"


@shapes
@pytest.mark.parametrize("markers", ["special", "added", "plain"])
def test_rendered_fields_come_back(models: Any, shape: str, markers: str) -> None:
    model = models(shape, markers)
    composed = model.compose()
    for case in load_shape(shape).cases.values():
        request, prompt = make_request(case), model.render_prompt(case)
        whole = model.parse(composed, case, request, prompt)
        assert find_fault(case.expected, whole) is None, (case.name, whole)
        for burst in BURSTS:
            streamed, _ = model.stream(composed, case, request, prompt, burst)
            assert take_meaning(streamed) == take_meaning(whole), (case.name, burst)


@shapes
@pytest.mark.parametrize("given", [{"tools": None}, {"tool_choice": "none"}], ids=["no tools", "choice none"])
def test_without_calls_nothing_is_lost(models: Any, shape: str, given: JsonObject) -> None:
    model, case = models(shape), find_case(shape, "reasoning, content, call", "content, call", "call")
    request, prompt = make_request(case), model.render_prompt(case)
    request = request.model_copy(update=given)
    for composed in (model.compose(), model.compose(tools=None)):
        whole = model.parse(composed, case, request, prompt)
        assert not whole["tool_calls"]
        assert case.expected["tool_calls"][0]["name"] in (whole["content"] or "") + (whole["reasoning_content"] or "")
        assert (whole["reasoning_content"] or "").startswith((case.expected["reasoning_content"] or "").strip())
        for burst in BURSTS:
            streamed, _ = model.stream(composed, case, request, prompt, burst)
            assert take_meaning(streamed) == take_meaning(whole), burst


@shapes
def test_the_tool_half_alone_leaves_reasoning_in_the_text(models: Any, shape: str) -> None:
    model, case = models(shape), find_case(shape, "content, call", "call")
    composed = model.compose(reasoning=None)
    request, prompt = make_request(case), model.render_prompt(case)
    whole = model.parse(composed, case, request, prompt)
    assert [call["function"]["name"] for call in whole["tool_calls"]] == [call["name"] for call in case.expected["tool_calls"]]
    assert whole["reasoning_content"] is None
    for burst in BURSTS:
        assert take_meaning(model.stream(composed, case, request, prompt, burst)[0]) == take_meaning(whole), burst


@pytest.mark.parametrize(("tools", "reasoning"), [("auto", "deepseek_r1"), ("hermes", "auto"), ("auto", "qwen3")])
def test_beside_a_half_of_vllms(models: Any, tools: str, reasoning: str) -> None:
    shape = "reasoning opened by the prompt"
    model, case = models(shape, "added"), find_case(shape, "reasoning, content, call")
    composed = model.compose(tools, reasoning)
    request, prompt = make_request(case), model.render_prompt(case)
    assert find_fault(case.expected, model.parse(composed, case, request, prompt)) is None
    for burst in (1, 4):
        streamed, _ = model.stream(composed, case, request, prompt, burst)
        assert find_fault(case.expected, streamed) is None, (burst, streamed)


@pytest.mark.parametrize("burst", BURSTS)
def test_reasoning_that_comes_again_is_reasoning(models: Any, burst: int) -> None:
    shape = "JSON in tags"
    model, case = models(shape), make_case("<think>One.</think>Two.<think>Three.</think>Four.", TOOLS)
    composed, prompt = model.compose(), model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    request = make_request(case)
    whole = model.parse(composed, case, request, prompt)
    streamed, _ = model.stream(composed, case, request, prompt, burst)
    assert take_meaning(streamed) == take_meaning(whole)
    assert (whole["reasoning_content"] or "").startswith("One.")
    assert all(word in whole["reasoning_content"] + whole["content"] for word in ("Two.", "Three.", "Four."))


def test_order_is_kept_in_several_messages() -> None:
    from chat_autoparser import Delta

    box, call = Outbox(), Delta("tool_call", "", 0, "id1", "f")
    came = [Delta("content", "a"), call, Delta("content", "b"), Delta("reasoning", "c")]
    sent = [messages.make_message(deltas) for deltas in (box.take(came), box.take([]), box.take_all([]))]
    assert [message.content for message in sent] == ["a", "b", None]
    assert [len(message.tool_calls) for message in sent] == [1, 0, 0]
    assert sent[2].reasoning == "c"
    assert box.take_all([]) == []


@pytest.mark.parametrize("burst", BURSTS)
def test_unknown_special_tokens_are_dropped_and_spelled_ones_kept(models: Any, burst: int) -> None:
    model = models("JSON in tags")
    composed = model.compose()
    prompt = model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    case = make_case("<think>Hm.</think>\n\nThe <s>end</s> is near.", TOOLS)
    request = make_request(case)
    assert request.skip_special_tokens is not False
    composed(model.tokenizer, request.tools).adjust_request(request)
    assert request.skip_special_tokens is False
    streamed, _ = model.stream(composed, case, request, prompt, burst)
    assert streamed["content"] == "The end is near."
    assert model.parse(composed, case, request, prompt)["content"] == "The end is near."
    spelled = model.encode("The <")
    parser = composed(model.tokenizer, request.tools)
    deltas = [parser.parse_delta("The <s>", [*spelled, *model.encode("s"), *model.encode(">")], request, prompt, finished=True)]
    assert "".join(delta.content or "" for delta in deltas if delta) == "The <s>"


# What vLLM wants to know of a format


@shapes
def test_where_reasoning_ends_is_told_from_few_tokens(models: Any, shape: str) -> None:
    model, case = models(shape), find_case(shape, "reasoning, content")
    half = AutoReasoningParser(model.tokenizer)
    marker = half.reasoning_end_str
    assert marker is not None
    prompt, tokens = model.render_prompt(case), model.encode(case.text)
    assert not half.is_reasoning_end(prompt)
    ends = []
    for place in range(1, len(tokens) + 1):
        said = half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[place - 1 : place])
        assert said == half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[place - 1 : place])
        ends += [place] if said else []
    assert ends
    assert model.tokenizer.decode(tokens[: ends[0]]).rstrip().endswith(marker)
    assert half.is_reasoning_end_streaming([*prompt, *tokens], tokens)
    assert not half.is_reasoning_end_streaming([*prompt, *tokens[: ends[0] - 1]], tokens[: ends[0] - 1])


@pytest.mark.parametrize("markers", ["special", "plain"])
def test_where_reasoning_ends_without_a_mark_of_its_own(markers: str, tmp_path: Path) -> None:
    """What begins the answer ends reasoning; where nothing does, no form is begun amid the answer, but at its beginning."""
    model = Model((UNSEEN / "bowline.jinja").read_text(), "<|over|>", markers, tmp_path / "a")
    half, prompt = AutoReasoningParser(model.tokenizer), model.encode("<|turn:assistant|>\n")
    tokens = model.encode("> Let me think.\n> And more.\n<|say|>Hello")
    said = [
        half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[place - 1 : place])
        for place in range(1, len(tokens) + 1)
    ]
    assert model.tokenizer.decode(tokens[: said.index(True) + 1]).endswith("<|say|>")
    assert not model.compose()(model.tokenizer, None).is_reasoning_end(prompt)
    model = Model((UNSEEN / "ashleybend.jinja").read_text(), "⟦.⟧", markers, tmp_path / "b")
    half, prompt = AutoReasoningParser(model.tokenizer), model.encode("⟦assistant⟧\n")
    tokens = model.encode("% Let me think.\nHello")
    assert not any(half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[:place]) for place in range(1, len(tokens)))
    assert not half.is_reasoning_end(prompt)
    assert model.compose()(model.tokenizer, None).is_reasoning_end(prompt)


@shapes
@pytest.mark.parametrize("markers", ["special", "plain"])
def test_reasoning_tokens_are_counted(models: Any, shape: str, markers: str) -> None:
    model, case = models(shape, markers), find_case(shape, "reasoning, content hard", "reasoning, content")
    composed, prompt = model.compose(), model.render_prompt(case)
    parser = composed(model.tokenizer, None, chat_template_kwargs=dict(case.kwargs))
    parser.is_reasoning_end(prompt)
    expected = len(model.encode(case.expected["reasoning_content"]))
    assert abs(parser.count_reasoning_tokens(model.encode(case.text)) - expected) <= 3
    assert parser.count_reasoning_tokens([]) == 0


@pytest.mark.parametrize("markers", ["special", "plain"])
@pytest.mark.parametrize("opened", [True, False], ids=["opened by the prompt", "opened by the model"])
def test_what_opens_reasoning_is_not_counted_in_the_answer(models: Any, markers: str, opened: bool) -> None:
    model, thought = models("JSON in tags", markers), "Let me think of stripes."
    text = ("" if opened else "<think>\n") + thought + "\n</think>\n\n"
    parser = model.compose()(model.tokenizer, None)
    parser.set_prompt_token_ids(make_prompt(model, "open" if opened else "possible"))
    counts = {parser.count_reasoning_tokens(model.encode(text + more)) for more in ("", "A model writes <think> and then thinks.")}
    assert len(counts) == 1
    assert abs(counts.pop() - len(model.encode(thought))) <= 3


@pytest.mark.parametrize("markers", ["special", "plain"])
def test_counting_again_after_each_token_costs_no_more_than_counting_once(models: Any, markers: str) -> None:
    """A client that wants the usage continuously makes vLLM ask after each token: what was counted is not decoded again."""
    model = models("reasoning opened by the prompt", markers)
    case = make_case("<think>" + "Thinking of stripes. " * 100 + "</think>It has forty-two." + " And more." * 50)
    tokens = model.encode(case.text)
    parser = model.compose()(model.tokenizer, None)
    parser.set_prompt_token_ids(model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"))
    expected = parser.count_reasoning_tokens(tokens)
    assert expected > 200
    decoded = 0

    def decode(self: Any, ids: Any) -> str:
        nonlocal decoded
        decoded += len(ids)
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False)
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader.Reader, "decode", decode)
        counts = [parser.count_reasoning_tokens(tuple(tokens[:place])) for place in range(1, len(tokens) + 1)]
    assert abs(counts[-1] - expected) <= 3
    assert counts == sorted(counts)
    assert decoded < 20 * len(tokens)


def make_engine_half(model: Model, **kwargs: Any) -> Any:
    """The half that vLLM makes in the process of the engine."""
    return AutoReasoningParser(tokenizer=model.tokenizer, **kwargs)


@pytest.mark.parametrize(
    "hint",
    [{"class": ["vllm.no_such_module", "X"]}, {"class": ["os", "system"]}, "[" * 100_000, '{"version": 0}', 7],
    ids=["no module", "any module", "deep", "another version", "a number"],
)
def test_nothing_that_a_request_carries_reaches_the_engine(models: Any, hint: Any) -> None:
    model, other = models("JSON in tags"), models("own reasoning tags")
    half = make_engine_half(model, chat_template_kwargs={"chat_autoparser": hint, "chat_template": other})
    prompt = model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    assert half.is_reasoning_end(prompt) is False
    assert half.is_reasoning_end_streaming([*prompt, *model.encode("<think>a</think>")], model.encode("</think>")) is True
    assert half.reasoning_end_str == "</think>"


def test_the_engine_s_half_raises_nothing(models: Any, own: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is known of reasoning, a grammar holds from the first token on."""
    own.tokenizer.chat_template = "{{ raise_exception('no') }}"
    half = make_engine_half(own)
    assert half.is_reasoning_end([1, 2]) is True
    assert half.is_reasoning_end_streaming([1, 2, 3], [3]) is True
    assert half.reasoning_end_str is None

    def fail(self: Any, ids: Any) -> str:
        raise RecursionError

    monkeypatch.setattr(reader.Reader, "decode", fail)
    half = make_engine_half(models("JSON in tags", "plain"))
    assert half.is_reasoning_end([1, 2]) is True
    assert half.is_reasoning_end_streaming([1, 2, 3], [3]) is True


@pytest.mark.parametrize("where", ["reasoning", "answer"])
def test_a_fault_beside_a_half_of_vllms_loses_nothing(models: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of the output is handed on: as reasoning where that was being read, else to the tool parser of vLLM's."""
    from chat_autoparser.parse.machine import Machine

    model, step = models("JSON in tags", "added"), Machine._step
    text = {"reasoning": "Let me BREAK it.\n</think>\n\nSo.", "answer": "BREAK it."}[where]
    case, prompt = make_case(text, TOOLS), make_prompt(model, "open" if where == "reasoning" else "possible")
    composed, request = model.compose("hermes", "auto"), make_request(case)

    def fail(self: Any, final: bool) -> Any:
        if "BREAK" in self.buffer:
            raise AttributeError("made up")
        return step(self, final)

    monkeypatch.setattr(Machine, "_step", fail)
    before = COUNTERS.read()["faults"]
    for message in (model.stream(composed, case, request, prompt, 10_000)[0], model.parse(composed, case, request, prompt)):
        if where == "reasoning":
            assert message["reasoning_content"].endswith("BREAK it.\n</think>\n\nSo.")
        else:
            assert message["content"].endswith("BREAK it.")
    assert COUNTERS.read()["faults"] == before + 2


# Cut calls


def test_a_call_that_was_cut_is_never_said_to_be_made(models: Any) -> None:
    """At each of its positions: whole and in a stream, for vLLM asks in different ways whether calls were made."""
    model, composed = models("JSON in tags"), models("JSON in tags").compose()
    prompt = model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    complete = cut = 0
    for length in range(1, len(CALL) + 1):
        case = make_case(CALL[:length], TOOLS)
        request = make_request(case)
        calls = composed(model.tokenizer, request.tools).parse(case.text, request, True, model.encode(case.text))[2]
        parser, told, arguments = composed(model.tokenizer, request.tools), False, ""
        pieces = list(model.cut(case.text, 1))
        for place, (text, ids) in enumerate(pieces, 1):
            delta = parser.parse_delta(text, ids, request, prompt, finished=place == len(pieces))
            if delta is not None:
                told = bool(told or delta.tool_calls) and not isinstance(delta, CutMessage)
                arguments += "".join(call.function.arguments or "" for call in delta.tool_calls or ())
        made = [call for call in calls if not isinstance(call, CutCall)]
        assert told == bool(made), case.text
        assert arguments == "".join(call.arguments for call in calls), case.text
        complete, cut = complete + bool(made), cut + (len(calls) > len(made))
        if made:  # its arguments are all there
            assert length >= len(CALL) - 14
    assert complete
    assert cut > 20


def test_pieces_of_calls_are_there_for_who_asks_whether_they_are(models: Any) -> None:
    """Not only in chat completions' own stream is that asked as a truth."""
    model = models("JSON in tags")
    case, parser = make_case(CALL[:-30], TOOLS), model.compose()(model.tokenizer, None)
    request, arguments = make_request(case), ""
    pieces = list(model.cut(case.text, 4))
    for place, (text, ids) in enumerate(pieces, 1):
        delta = parser.parse_delta(text, ids, request, [], finished=place == len(pieces))
        if delta is not None and delta.tool_calls:
            arguments += "".join(call.function.arguments or "" for call in delta.tool_calls)
    assert arguments.startswith('{"city": "Oslo')
    assert '"tool_calls"' not in delta.model_dump_json(exclude_unset=True)


def test_what_is_read_is_counted(models: Any) -> None:
    model = models("JSON in tags")
    before = COUNTERS.read()
    for text in (CALL, CALL[:60], "Hello."):
        case = make_case(text, TOOLS)
        request = make_request(case)
        model.compose()(model.tokenizer, request.tools).parse(case.text, request, True, model.encode(case.text))
    found = {name: number - before[name] for name, number in COUNTERS.read().items()}
    assert (found["outputs"], found["calls"], found["cut_calls"], found["recoveries"]) == (3, 2, 1, 0)


def test_special_tokens_are_dropped_whichever_object_asked_for_them(models: Any) -> None:
    """A batch adjusts one request, and reads with others."""
    model, case = models("JSON in tags"), make_case("The <s>end</s> is near.")
    for adjusted in (True, False):
        request, prompt = make_request(case), make_prompt(model, "ended")
        if adjusted:
            adjust(model, request, prompt)
        assert model.parse(model.compose(), case, request, prompt)["content"] == "The end is near."


@pytest.mark.parametrize(("said", "default", "content"), [
    (None, None, "A <s> spelled."), (True, None, "A <s> spelled."), (False, None, "A  spelled."), (None, False, "A  spelled."),
])  # fmt: skip
def test_text_from_which_special_tokens_were_left_out_loses_no_more(
    tmp_path: Path, said: bool | None, default: bool | None, content: str
) -> None:
    """A request that does not say (0.33) has them left out, unless the model's defaults differ."""
    model = Model(PLAIN, "<|over|>", "plain", tmp_path)
    note(model.tokenizer, None, **({} if default is None else {"skip_special_tokens": default}))
    request, parser = make_request(make_case("")), model.compose()(model.tokenizer, None)
    request.skip_special_tokens = said
    [special] = model.encode("<s>")
    deltas = [
        parser.parse_delta(text, ids, request, model.encode("[assistant]"), finished=text.endswith("."))
        for text, ids in (("A ", model.encode("A ")), ("", [special]), ("<s> spelled.", model.encode("xx xx.")))
    ]
    assert "".join(delta.content or "" for delta in deltas if delta) == content
    reader._SERVERS.pop(id(model.tokenizer), None)
