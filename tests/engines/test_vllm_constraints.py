"""What a request to vLLM is held to: calls that are required, named or strict, and how the answer is read."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from conversations import JsonObject
from judge import take_meaning
from vllm_model import BURSTS, STATES, TOOLS, TRAIN, WEATHER, accepts, adjust, make_case, make_prompt, make_request, shapes

from chat_autoparser.vllm_plugin.reader import get_reader

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


REQUIRED = '[{"name": "NAME", "parameters": {"city": "Oslo"}}, {"name": "NAME", "parameters": {"city": "a[]{}\\"b"}}]'
REASONED = "I need the weather.\n</think>\n\n"


@pytest.mark.parametrize("choice", ["required", "named"])
@pytest.mark.parametrize("state", STATES)
def test_a_forced_call_holds_from_the_first_token_with_a_place_for_reasoning(models: Any, state: str, choice: str) -> None:
    model = models("JSON in tags")
    named = {"type": "function", "function": {"name": "get_weather"}}
    request = make_request(make_case("", TOOLS), tool_choice=named if choice == "named" else "required")
    prompt = make_prompt(model, state)
    adjust(model, request, prompt)
    assert request._grammar_from_parser  # which tells vLLM not to wait for the end of reasoning
    outputs = {"ended": WEATHER, "open": f"{REASONED}{WEATHER}", "possible": f"<think>\n{REASONED}{WEATHER}"}
    assert accepts(request, outputs[state])
    assert accepts(request, WEATHER) == (state != "open")
    for refused in ("Hello.", "<think>\nHm.", f"{REASONED}Hello.", "<think>\n</think>\n\nHello.", ""):
        assert not accepts(request, refused), refused
    two = outputs[state].replace(WEATHER, f"{WEATHER}\n{WEATHER}")
    assert accepts(request, two) == (choice == "required")
    assert accepts(request, outputs[state].replace("get_weather", "find_train")) == (choice == "required")


def test_two_calls_where_one_was_named_are_one(models: Any) -> None:
    """Whatever the model was not held to."""
    model, case = models("JSON in tags"), make_case(f"{WEATHER}\n{WEATHER}", TOOLS)
    named = {"type": "function", "function": {"name": "get_weather"}}
    request, composed = make_request(case, tool_choice=named), model.compose()
    prompt = make_prompt(model, "ended")
    whole = model.parse(composed, case, request, prompt)
    assert len(whole["tool_calls"]) == 1
    assert take_meaning(model.stream(composed, case, request, prompt, 1)[0]) == take_meaning(whole)


def test_a_parser_tells_what_stands_open(models: Any) -> None:
    model = models("JSON in tags")
    parser = model.compose()(model.tokenizer, None)
    assert [parser.is_reasoning_end(make_prompt(model, state)) for state in STATES] == [True, False, False]


@shapes
@pytest.mark.parametrize("named", [False, True], ids=["required", "named"])
@pytest.mark.parametrize("enforced", [True, False], ids=["enforced", "not enforced"])
def test_forced_calls(models: Any, shape: str, named: bool, enforced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is held to its own format, or to vLLM's JSON; either answer is read."""
    import xgrammar

    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", str(int(enforced)))
    model, case = models(shape), make_case("", TOOLS)
    choice = {"type": "function", "function": {"name": "find_train"}} if named else "required"
    request = make_request(case, tool_choice=choice)
    render = model.tokenizer.apply_chat_template
    prompt = model.encode(render(case.messages, add_generation_prompt=True, tokenize=False))
    adjust(model, request, prompt)
    held = request.structured_outputs
    assert held is not None
    if enforced:
        assert held.structural_tag is not None
        xgrammar.Grammar.from_structural_tag(held.structural_tag)
        assert "find_train" in held.structural_tag
    else:
        assert held.structural_tag is None
        assert held.json is not None
    if not enforced or '"json_schema": {"type": "array"' in (held.structural_tag or ""):
        text = REQUIRED.replace("NAME", "find_train")
        used = get_reader(model.tokenizer)
        if used.find_state(used.read_prompt(prompt)) == "open":
            assert used.format.reasoning is not None
            text = f"Hm.{used.format.reasoning.end.written}{text}"
        composed = model.compose()
        answered = make_case(text, TOOLS)
        whole = model.parse(composed, answered, request, prompt)
        assert [call["function"]["name"] for call in whole["tool_calls"]] == ["find_train"] * (1 if named else 2)
        assert whole["tool_calls"][0]["function"]["arguments"] == '{"city": "Oslo"}'
        for burst in BURSTS:
            assert take_meaning(model.stream(composed, answered, request, prompt, burst)[0]) == take_meaning(whole)
        if enforced and not named:
            assert accepts(request, text)
            assert not accepts(request, text.replace('"name":', '"name":' + 9 * "\n"))  # some models would never stop with those


@pytest.mark.parametrize("given", [{"strict": True}, {"parallel_tool_calls": False}, {}], ids=["strict", "one call", "free"])
@pytest.mark.parametrize("enforced", [True, False], ids=["enforced", "not enforced"])
def test_free_calls_are_held_to_their_form_only_where_that_is_wanted(
    models: Any, given: JsonObject, enforced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", str(int(enforced)))
    tools: list[JsonObject] = [{**tool, "function": {**tool["function"], "strict": "strict" in given}} for tool in TOOLS]
    model, case = models("JSON in tags"), make_case("", tools)
    request = make_request(case, **{key: value for key, value in given.items() if key != "strict"})
    adjust(model, request, make_prompt(model, "possible"))
    assert (request.structured_outputs is not None) == bool(given and enforced)


HALVES = pytest.mark.parametrize("reasoning", ["auto", "qwen3"])


@HALVES
@pytest.mark.parametrize("level", ["function", "auto"])
def test_the_server_s_level_holds_beside_a_half_of_vllms_too(models: Any, reasoning: str, level: str) -> None:
    model, case = models("JSON in tags"), make_case("", TOOLS)
    request = make_request(case)
    adjust(model, request, make_prompt(model, "ended"), reasoning=reasoning, tool_strict_level=level)
    assert (request.structured_outputs is not None) == (level == "function")


@HALVES
@pytest.mark.parametrize("form", ["the model's", "JSON"])
@pytest.mark.parametrize(("asked", "calls"), [("strict", 0), ("repair", 1)])
def test_a_request_s_policy_counts_for_every_form(
    models: Any, reasoning: str, form: str, asked: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", "0")
    text = WEATHER.replace("arguments", "parameters") if form != "JSON" else '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'
    model, case = models("JSON in tags"), make_case("So.\n</think>\n\n" + text, TOOLS)
    prompt = make_prompt(model, "open")
    request = make_request(
        case, vllm_xargs={"chat_autoparser_policy": asked}, tool_choice="required" if form == "JSON" else "auto"
    )
    adjust(model, request, prompt, reasoning=reasoning)
    composed = model.compose(reasoning=reasoning)
    assert len(model.stream(composed, case, request, prompt, 4)[0]["tool_calls"] or ()) == calls
    assert len(model.parse(composed, case, request, prompt)["tool_calls"] or ()) == calls


@HALVES
def test_one_call_is_read_where_a_request_wants_no_more(models: Any, reasoning: str) -> None:
    model, case, prompt = models("JSON in tags"), make_case(f"{WEATHER}\n{TRAIN}", TOOLS), make_prompt(models("JSON in tags"), "ended")
    request, composed = make_request(case, parallel_tool_calls=False), model.compose(reasoning=reasoning)
    for message in (model.stream(composed, case, request, prompt, 4)[0], model.parse(composed, case, request, prompt)):
        assert [call["function"]["name"] for call in message["tool_calls"]] == ["get_weather"]


@pytest.mark.parametrize("mode", ["required", "auto"])
def test_allowed_tools_are_the_ones_that_may_be_called(models: Any, mode: str) -> None:
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    model = models("JSON in tags")
    tools = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
    allowed = {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": "find_train"}]}
    request = ResponsesRequest(model="tiny", input="Hello", tools=tools, tool_choice=allowed)
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, TRAIN)
    assert not accepts(request, WEATHER)
    assert accepts(request, "Hello.") == (mode == "auto")


@pytest.mark.parametrize("count", [50, 150])
def test_tools_whose_tag_would_keep_the_server_busy_get_the_json_form(models: Any, count: int) -> None:
    """The tag is made on the event loop, and grows with the square of the parameters where each has marks of its own."""
    model = models("tagged arguments")
    parameters = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(count)}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    request = make_request(make_case("", tools), tool_choice="required")
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, '[{"name": "f", "parameters": {}}]') == (count > 100)


@pytest.mark.parametrize("schema", ["deep", "not so deep", "many ways", "no schema"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_hostile_schema_raises_nothing(models: Any, schema: str, choice: str) -> None:
    """Nor does it keep the server busy: of 400 levels xgrammar would take many seconds, of 16 ways in 16 layers nobody an end."""
    parameters: Any = {"type": "object", "properties": {}}
    for _ in range({"deep": 3000, "not so deep": 400}.get(schema, 0)):
        parameters = {"type": "object", "properties": {"a": parameters}}
    if schema == "many ways":
        layers = {f"a{layer}": {"anyOf": [{"$ref": f"#/$defs/a{layer + 1}"}] * 16} for layer in range(15)}
        parameters = {"$defs": {**layers, "a15": parameters}, "$ref": "#/$defs/a0"}
    if schema == "no schema":
        parameters = {"type": ["object", 7], "properties": ["a"], "required": {"b": 1}}
    tools = [{"type": "function", "function": {"name": "f", "strict": True, "parameters": parameters}}]
    model, request = models("JSON in tags"), make_request(make_case("", tools), tool_choice=choice)
    adjust(model, request, make_prompt(model, "ended"))
    assert getattr(request.structured_outputs, "structural_tag", None) is None or schema in ("many ways", "no schema")


def test_a_required_call_goes_before_a_form_of_the_client_s(models: Any) -> None:
    """As vLLM has it for every other form."""
    model, free = models("JSON in tags"), {"type": "structural_tag", "format": {"type": "any_text"}}
    given = {"structured_outputs": {"structural_tag": json.dumps(free)}}
    request = make_request(make_case("", TOOLS), tool_choice="required", **given)
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, WEATHER)
    assert not accepts(request, "Hello.")
    request = make_request(make_case("", TOOLS), **given)
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, "Hello.")


@pytest.mark.parametrize("state", STATES)
def test_strict_calls_may_come_in_the_place_of_an_answer_of_a_given_form(models: Any, state: str) -> None:
    """As vLLM has it for its own parsers: an agent with strict tools and a form for its answer must be able to call them."""
    strict = [{"type": "function", "function": {**tool["function"], "strict": True}} for tool in TOOLS]
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    model, thought = models("JSON in tags"), {"ended": "", "open": REASONED, "possible": f"<think>\n{REASONED}"}[state]
    request, prompt = make_request(make_case("", strict), response_format=form), make_prompt(model, state)
    adjust(model, request, prompt)
    for answer in (WEATHER, '{"sum": 4}'):
        text = (thought if answer == WEATHER else thought.rstrip()) + answer
        assert accepts(request, text)
        read = model.parse(model.compose(), make_case(text, strict), request, prompt)
        assert (read["content"], len(read["tool_calls"])) == ((None, 1) if answer == WEATHER else (answer, 0))
    for refused in ("Hello.", '{"sum": "four"}', f"{WEATHER}Hello."):
        assert not accepts(request, thought + refused), refused
    adjust(model, request := make_request(make_case("", TOOLS), response_format=form), prompt)
    assert request.response_format is not None, "of tools that are not strict, the form goes before calls"


def test_an_adjusted_request_that_was_written_out_hides_reasoning_too(models: Any) -> None:
    """As it is for vLLM's endpoints that render and read apart from each other."""
    model, case = models("JSON in tags"), make_case(f"{REASONED}{WEATHER}", TOOLS)
    request, prompt = make_request(case, tool_choice="required", include_reasoning=False), make_prompt(model, "open")
    adjust(model, request, prompt)
    again = type(request).model_validate_json(request.model_dump_json(exclude_none=True))
    for each in (request, again):
        read = model.parse(model.compose(), case, each, prompt)
        assert (read["content"], read["reasoning_content"], len(read["tool_calls"])) == (None, None, 1)


def test_that_strict_tools_are_not_enforced_is_said_once(
    models: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("vllm"), "propagate", True)
    model = models("JSON in tags")
    nested: JsonObject = {"type": "string"}
    for _ in range(60):
        nested = {"type": "object", "properties": {"strictly_nested": nested}}
    tools = [{"type": "function", "function": {"name": "deep", "parameters": nested, "strict": True}}]
    for _ in range(2):
        request = make_request(make_case("", tools))
        adjust(model, request, make_prompt(model, "ended"))
        assert request.structured_outputs is None
    [record] = [record for record in caplog.records if "nested too deeply" in record.getMessage()]
    assert record.levelno == logging.WARNING
