"""The ways to start SGLang, and its endpoints that hand text to the parsers without generating any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sglang", reason="this is not SGLang's environment: see scripts/setup_sglang.sh")

from cases import TEMPLATES, load_subject
from engines import MODEL
from served import Served, make_bound, serve_subject
from serving import ENVIRONMENT, STAND_INS, read_tail
from tiny_model import make_model
from tokenizers import Tokenizer

from chat_autoparser.sglang_plugin import NAME

if TYPE_CHECKING:
    from engines import Engine

SHAPE = "JSON in tags"
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}
CALL = 'Wait.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
THOUGHT = "<think>\nIt rains in Oslo.\n</think>\n\n"
SERVERS = ["one process", pytest.param("two processes", marks=pytest.mark.more)]


@pytest.fixture(scope="module", params=SERVERS)
def launched(request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a scripted engine, and the real one as `sglang serve` starts it with two tokenizer workers."""
    real = request.param == "two processes"
    folder, options = tmp_path_factory.mktemp("server"), [*engine.doubled, "--stream-interval", "50"] if real else []
    with serve_subject(engine, SHAPE, "special", folder, real=real, options=options) as served:
        if real:
            wait_for_workers(served, 2)
        yield served


def wait_for_workers(served: Served, count: int) -> None:
    """Wait for all tokenizer workers: a server answers as soon as the first one does."""
    deadline = time.monotonic() + 300
    while served.server.log.read_text("utf-8", "replace").count("Application startup complete") < count:
        assert time.monotonic() < deadline, read_tail(served.server.log)
        time.sleep(0.5)


def post_often(served: Served, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask as often as it takes for each of several processes to have been asked; return the different answers."""
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: served.post(path, body), range(48)))
    return [answer for place, answer in enumerate(answers) if answer not in answers[:place]]


@pytest.mark.parametrize("name", ["auto", NAME])
def test_the_endpoint_that_reads_calls(launched: Served, name: str) -> None:
    body = {"text": CALL, "tools": [TOOL], "tool_call_parser": name}
    [answer] = post_often(launched, "/parse_function_call", body)
    [call] = answer["calls"]
    assert (call["tool_index"], call["name"], json.loads(call["parameters"])) == (0, "get_weather", {"city": "Oslo"})
    assert answer["normal_text"] == "Wait."


@pytest.mark.parametrize("name", ["auto", NAME])
def test_the_endpoint_that_reads_reasoning(launched: Served, name: str) -> None:
    body = {"text": f"{THOUGHT}Take a coat.", "reasoning_parser": name}
    [answer] = post_often(launched, "/separate_reasoning", body)
    assert (answer["reasoning_text"], answer["text"]) == ("It rains in Oslo.", "Take a coat.")


@pytest.mark.more
@pytest.mark.parametrize("launched", ["two processes"], indirect=True)
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_steps_of_fifty_tokens(launched: Served, endpoint: str) -> None:
    cases = [case for case in launched.list_cases(endpoint) if case.name in ("call all types", "two calls", "content hard")]
    assert len(cases) == 3
    assert [fault for case in cases if (fault := launched.find_fault(case, endpoint, stream=True))] == []
    # A scripted step holds all the tokens of its interval.
    assert launched.ask(cases[0], endpoint, stream=True).kinds.count("tool_calls") < 5


def list_forms(folder: Path, source: str) -> dict[str, tuple[str | dict[str, str], list[str]]]:
    """The ways to give a server a template: what the model comes with, and the options."""
    given = folder / "given.jinja"
    given.write_text(source, "utf-8")
    return {
        "the first of several": ({"default": source, "rag": "{{ messages }}"}, []),
        "named of several": ({"default": "{{ messages }}", "tool_use": source}, ["--hf-chat-template-name", "tool_use"]),
        "a file": ("{{ messages }}", ["--chat-template", str(given)]),
        "a file and several": ({"default": "{{ messages }}"}, ["--chat-template", str(given)]),
        "for all requests": ("{{ messages }}", ["--default-chat-template-kwargs", json.dumps({"chat_template": source})]),
    }


FORMS = ["the first of several", "named of several", "a file", "a file and several", "for all requests"]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_templates(form: str, engine: Engine, tmp_path: Path) -> None:
    """With several named templates SGLang alone does not start."""
    template, options = list_forms(tmp_path, load_subject(TEMPLATES[SHAPE]).source)[form]

    def name_templates(model: Path) -> None:
        config = json.loads((model / "tokenizer_config.json").read_text())
        named = template if isinstance(template, str) else [{"name": k, "template": v} for k, v in template.items()]
        (model / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": named}))

    with serve_subject(engine, SHAPE, "special", tmp_path, options=options, prepare=name_templates) as served:
        for name in ("reasoning, content, call", "content hard"):
            case = served.subject.get(name)
            assert [served.find_fault(case, stream=stream) for stream in (False, True)] == [None, None]


def test_nothing_that_goes_by_a_parsers_name_is_lost(engine: Engine, tmp_path: Path) -> None:
    """SGLang translates efforts for this template where the parser has its family's name, as its own `auto` would."""
    subject = load_subject("tencent-Hy3-preview")
    model = make_model(subject.source, tmp_path / "model", eos=subject.eos)
    bodies: list[dict[str, Any]] = [{"reasoning_effort": effort} for effort in (None, "none", "low", "medium", "high")]
    question = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    found = []
    for parsers in ("auto", "hunyuan"):
        with engine.serve(model, tmp_path / "log", parsers) as server:
            served = Served(engine, subject, server, Tokenizer.from_file(str(model / "tokenizer.json")))
            found.append([served.post("/v1/tokenize", {**question, **body})["tokens"] for body in bodies])
    assert found[0] == found[1]
    assert len({str(tokens) for tokens in found[1]}) > 1


@pytest.mark.parametrize("backend", ["llguidance", "outlines"])
def test_other_grammar_backends(backend: str, engine: Engine, tmp_path: Path) -> None:
    """They cannot express the model's own format: a call that has to come is SGLang's JSON, another is the model's."""
    options = ["--grammar-backend", backend]
    with serve_subject(engine, "tagged arguments", "special", tmp_path, options=options) as served:
        arguments = {"colour": "red", "bright": True}
        text = json.dumps([{"name": "pick_colour", "parameters": arguments}])
        call = {"name": "pick_colour", "arguments": arguments, "id": None}
        expected = {"reasoning_content": None, "content": None, "tool_calls": [call]}
        for choice in ("required", "named"):
            case = replace(make_bound(served, choice), text=text, expected=expected)
            assert [served.find_fault(case, stream=stream) for stream in (False, True)] == [None, None]
        two = served.subject.get("two calls")
        first = {**two.expected, "tool_calls": two.expected["tool_calls"][:1]}
        single = replace(two, options={"parallel_tool_calls": False}, expected=first)
        assert [served.find_fault(single, stream=stream) for stream in (False, True)] == [None, None]


@pytest.mark.more
@pytest.mark.parametrize("shapes", [(SHAPE,), (SHAPE, "own reasoning tags")], ids=["one", "two in one process"])
def test_an_engine_without_a_server(shapes: tuple[str, ...], tmp_path: Path) -> None:
    """The reasoning is counted, a grammar waits for its end, and whoever parses by hand has the model's format."""
    given, thoughts, tokens = [], [], []
    for shape in shapes:
        subject = load_subject(TEMPLATES[shape])
        model = make_model(subject.source, tmp_path / shape, eos=subject.eos)
        case = subject.get("reasoning, content")
        thought = THOUGHT if shape == SHAPE else case.text[: case.text.index(case.expected["content"])]
        thoughts.append(thought.removeprefix("<think>\n").rstrip())
        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        tokens.append(len(tokenizer.encode(thoughts[-1], add_special_tokens=False).ids))
        given += [str(model), thoughts[-1]]
    script = Path(__file__).parents[2] / "scripts" / "sglang_engine.py"
    environment = {**ENVIRONMENT, **os.environ, "PYTHONPATH": f"{STAND_INS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    run = subprocess.run([sys.executable, str(script), *given], env=environment, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr[-2000:]
    for found, thought, count in zip(json.loads(run.stdout.splitlines()[-1]), thoughts, tokens, strict=True):
        assert found["parsers"] == [NAME, NAME]
        assert found["detector"] == "CallDetector"
        assert found["reasoning_tokens"] == count
        assert found["text"].startswith(thought)
        assert found["reasoning"]
        assert set(json.loads(found["text"].removeprefix(thought))) == {"done"}
