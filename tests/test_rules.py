"""Roles, delimiters, stop strings and rules of the classic layouts, stated by hand as their authors describe them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from corpus import read_template

import chat_autoparser as ca
from chat_autoparser.converse.rules import check_conversation
from chat_autoparser.format import ChatFormat
from chat_autoparser.format.conversation import ID, Problem, Role

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Hello?"}
ASSISTANT = {"role": "assistant", "content": "Hi."}
DEVELOPER = {"role": "developer", "content": "Be polite."}


class Layout(NamedTuple):
    """What is known of a layout: what stands around each message, the stop string, and what is printed first."""

    template: str
    roles: dict[str, tuple[str, str]]
    stop: str
    opening: str = ""
    inside: bool = False


ROLES = ("system", "user", "assistant")
LAYOUTS = {
    "Llama 2": Layout(
        "humain-ai-ALLaM-7B-Instruct-preview",
        {"system": ("<<SYS>>\n", "\n<</SYS>>\n\n"), "user": ("<s> [INST] ", " [/INST]"), "assistant": (" ", " </s>")},
        "</s>",
        inside=True,
    ),
    "Code Llama": Layout(
        "codellama-CodeLlama-7b-Instruct-hf",
        {"system": ("<<SYS>>\n", "\n<</SYS>>\n\n"), "user": ("<s>[INST] ", " [/INST]"), "assistant": (" ", " </s>")},
        "</s>",
        inside=True,
    ),
    "Llama 3": Layout(
        "NousResearch-Meta-Llama-3-8B-Instruct",
        {role: (f"<|start_header_id|>{role}<|end_header_id|>\n\n", "<|eot_id|>") for role in ROLES},
        "<|eot_id|>",
        opening="<s>",
    ),
    "Mistral": Layout(
        "mistralai-Mistral-7B-Instruct-v0.2",
        {"system": ("", "\n\n"), "user": (" [INST] ", " [/INST]"), "assistant": (" ", "</s>")},
        "</s>",
        opening="<s>",
        inside=True,
    ),
    "ChatML": Layout(
        "Qwen-Qwen2-0.5B",
        {role: (f"<|im_start|>{role}\n", "<|im_end|>\n") for role in ROLES},
        "<|im_end|>",
    ),
    "Alpaca": Layout(
        "KSP-NMAI-Boris-125M-Instruct",
        {"system": ("", "\n\n"), "user": ("### Instruction:\n", "\n\n"), "assistant": ("### Response:\n", "\n\n")},
        "\n### Instruction:",
    ),
    "Vicuna": Layout(
        "alpindale-WizardLM-2-8x22B",
        {"system": ("", " "), "user": ("USER: ", ""), "assistant": (" ASSISTANT: ", "</s>\n")},
        "</s>",
    ),
    "Orca": Layout(
        "upstage-SOLAR-10.7B-Instruct-v1.0",
        {"system": ("### System:\n", "\n\n"), "user": ("### User:\n", "\n\n"), "assistant": ("### Assistant:\n", "")},
        "### User:",
    ),
    "Zephyr": Layout(
        "microsoft-Phi-3-mini-4k-instruct",
        {role: (f"<|{role}|>\n", "<|end|>\n") for role in ROLES},
        "<|end|>",
    ),
    "Gemma": Layout(
        "google-gemma-2-2b-it",
        {"user": ("<start_of_turn>user\n", "<end_of_turn>\n"), "assistant": ("<start_of_turn>model\n", "<end_of_turn>\n")},
        "<end_of_turn>",
        opening="<s>",
    ),
}


def analyze(name: str) -> ChatFormat:
    return ca.analyze(read_template(name), bos_token="<s>", eos_token="</s>")


def find_problems(name: str, *messages: dict[str, Any]) -> list[Problem]:
    """Return what the rules find, which is what the template itself finds."""
    found = analyze(name).validate(messages)
    assert check_conversation(read_template(name), messages, bos_token="<s>", eos_token="</s>") == found
    return found


@pytest.mark.parametrize("name", LAYOUTS)
def test_classic_layouts(name: str) -> None:
    layout = LAYOUTS[name]
    format = analyze(layout.template)
    talk = format.conversation
    assert {role.name: (role.start, role.end) for role in talk.roles if role.name != "tool"} == layout.roles
    assert talk.opening == layout.opening
    assert [role.name for role in talk.roles if role.within] == (["system"] if layout.inside else [])
    assert talk.proven


@pytest.mark.parametrize("name", LAYOUTS)
def test_stops_of_classic_layouts(name: str) -> None:
    assert analyze(LAYOUTS[name].template).stops == (LAYOUTS[name].stop,)


def test_composing_writes_what_the_vendor_documents() -> None:
    talk = analyze("codellama-CodeLlama-7b-Instruct-hf").conversation
    messages = [("system", "Be helpful"), ("user", "Hello"), ("assistant", "Hi!"), ("user", "How are you?")]
    expected = "<s>[INST] <<SYS>>\nBe helpful\n<</SYS>>\n\nHello [/INST] Hi! </s><s>[INST] How are you? [/INST]"
    assert talk.compose(messages) == expected


def test_preset_system_message_stands_only_where_there_is_none() -> None:
    talk = analyze("HuggingFaceTB-SmolLM2-135M-Instruct").conversation
    assert talk.preset.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert talk.compose([("user", "x")]) == talk.preset + "<|im_start|>user\nx<|im_end|>\n"
    assert "SmolLM" not in talk.compose([("system", "y"), ("user", "x")])


@pytest.mark.parametrize("name", ["codellama-CodeLlama-7b-Instruct-hf", "mistralai-Mistral-7B-Instruct-v0.2"])
def test_roles_must_alternate(name: str) -> None:
    assert find_problems(name, USER, ASSISTANT, USER) == []
    assert find_problems(name, SYSTEM, USER) == []
    (problem,) = find_problems(name, USER, ASSISTANT, ASSISTANT)
    assert (problem.index, problem.dropped) == (2, False)
    assert "Messages 1 and 2 are both of the role 'assistant': roles must alternate." in str(problem)
    (problem,) = find_problems(name, ASSISTANT, USER)
    assert str(problem).startswith("Message 0 (assistant) cannot be the first: the conversation must begin with system or user.")


def test_refused_system_role_is_named_with_what_to_do() -> None:
    (problem,) = find_problems("google-gemma-2-2b-it", SYSTEM, USER)
    assert problem.index == 0
    assert not problem.dropped
    assert "no system role" in str(problem)
    assert "first user message" in str(problem)
    assert "System role not supported" in str(problem)


def test_dropped_messages_are_problems_too() -> None:
    (problem,) = find_problems("OrionStarAI-Orion-14B-Chat", SYSTEM, USER)
    assert problem.dropped
    assert "without a word" in str(problem)
    (problem,) = find_problems("Qwen-Qwen2.5-7B-Instruct", USER, DEVELOPER)
    assert (problem.index, problem.dropped) == (1, True)
    (problem,) = find_problems("codellama-CodeLlama-7b-Instruct-hf", USER, SYSTEM, USER)
    assert (problem.index, problem.dropped) == (1, True)
    (problem,) = find_problems("llama-cpp-deepseek-r1", SYSTEM, USER, SYSTEM, USER)
    assert (problem.index, problem.dropped) == (0, True)


def test_a_template_that_takes_everything_has_no_rules() -> None:
    assert find_problems("NousResearch-Meta-Llama-3-8B-Instruct", DEVELOPER, ASSISTANT, USER, USER, SYSTEM) == []


def make_calling(**changes: Any) -> list[dict[str, Any]]:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "assistant", "content": "", "tool_calls": [call], **changes}
    return [USER, answer, {"role": "tool", "content": "4", "tool_call_id": "call_1"}]


def test_tool_calls_without_room_for_them() -> None:
    problems = analyze("zai-org-chatglm3-6b").validate(make_calling())
    assert [str(problem) for problem in problems] == ["Message 1 (assistant) has tool calls, and this template prints none."]


def test_what_only_the_template_can_tell() -> None:
    template = read_template("mistralai-Mistral-7B-Instruct-v0.3")
    (problem,) = check_conversation(template, make_calling(), eos_token="</s>")
    assert "other ids" in str(problem)
    assert "alphanumeric strings with length 9" in str(problem)
    template = read_template("01-ai-Yi-1.5-9B-Chat")
    (problem,) = check_conversation(template, [USER, {"role": "assistant", "content": None}])
    assert problem.index == 1
    assert "content is null" in str(problem)
    (problem,) = check_conversation(read_template("BAAI-Emu3-Chat-hf"), [USER])
    assert "wants a list of parts" in str(problem)


def test_stop_strings_in_plain_words_stop_no_answer_that_has_the_word() -> None:
    for name in ("nvidia-Llama3-ChatQA-1.5-8B", "AI-MO-NuminaMath-7B-TIR", "tiiuae-falcon-7b-instruct"):
        (stop,) = analyze(name).stops
        assert stop.startswith("\n")
        assert stop.endswith(":")


def test_rules_survive_storing() -> None:
    format = analyze("google-gemma-2-2b-it")
    assert ChatFormat.from_dict(format.to_dict()) == format
    assert [str(problem) for problem in ChatFormat.from_dict(format.to_dict()).validate([SYSTEM, USER])]


def test_results_of_tools_name_the_call_that_they_answer() -> None:
    roles = {role.name: role for role in analyze("mistralai-Mistral-7B-Instruct-v0.3").conversation.roles}
    assert roles["tool"].start == '[TOOL_RESULTS] {"content": '
    assert roles["tool"].end == f', "call_id": "{ID}"}}[/TOOL_RESULTS]'
    roles = {role.name: role for role in analyze("Qwen-Qwen3-0.6B").conversation.roles}
    assert roles["tool"] == Role("tool", "<|im_start|>user\n<tool_response>\n", "\n</tool_response><|im_end|>\n")
    roles = {role.name: role for role in analyze("moonshotai-Kimi-K2.6").conversation.roles}
    assert roles["tool"].start.endswith(f"## Return of {ID}\n")
