"""What measures servers under load: it has to notice what is wrong with an answer, and to count what came."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from cases import load_subject
from load import BESIDE, list_hostile
from load_client import Answer, ask
from load_workload import TEMPLATES, Workload, make_workload
from tokenizers import Tokenizer

import chat_autoparser as ca


def make_answer(deltas: list[dict[str, Any]], size: int = 7) -> Answer:
    """An answer that streams these deltas, whose body was cut into chunks and arrivals anyhow."""
    events = [f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode() for delta in deltas]
    body = b"".join([*events, b"data: [DONE]\n\n"])
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    sent = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = head + sent
    return Answer([0.0, 0.5, 0.6], [raw[:100], raw[100:300], raw[300:]])


def test_a_stream_is_read_however_it_was_cut() -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a"'}}
    rest = {"index": 0, "function": {"arguments": ": 1}"}}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        {"reasoning": "So."},
        {"content": "Yes: "},
        {"content": "é\r\n"},
    ]
    answer = make_answer([*deltas, {"tool_calls": [call]}, {"tool_calls": [rest]}])
    function = {"name": "f", "arguments": '{"a": 1}'}
    called = [{"id": "a", "type": "function", "function": function}]
    assert answer.status == 200
    assert answer.read_message() == {"reasoning_content": "So.", "content": "Yes: é\r\n", "tool_calls": called}
    assert answer.gaps == [0.5, pytest.approx(0.1)]


def test_events_are_counted_where_they_arrive_whole() -> None:
    body = b"data: {}\n\ndata: {}\n\n"
    assert Answer([1.0, 2.0], [body, body]).count_events() == 4


@pytest.mark.parametrize("shape", ["tagged calls", "JSON calls"])
def test_what_is_generated_means_what_is_expected(shape: str, tmp_path: Path) -> None:
    load = make_workload("vllm", shape, tmp_path, 400)
    assert 200 < load.tokens < 800
    calls = load.expected["tool_calls"]
    raw: list[dict[str, Any]] = [{"content": load.text}]
    read: list[dict[str, Any]] = [
        {key: load.expected[key] for key in ("reasoning_content", "content") if load.expected[key]},
        *(
            {
                "tool_calls": [
                    {
                        "index": number,
                        "id": f"call{number}",
                        "type": "function",
                        "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                    }
                ]
            }
            for number, call in enumerate(calls)
        ),
    ]
    assert load.find_fault(make_answer(raw), "none") is None
    assert load.find_fault(make_answer(read), "auto") is None
    assert load.find_fault(make_answer(raw), "auto") is not None
    assert load.find_fault(make_answer(read[:-1]), "auto") is not None
    assert load.find_fault(make_answer(raw[:0]), "none") is not None


def test_one_long_argument_is_one_call(tmp_path: Path) -> None:
    load = make_workload("vllm", "tagged calls", tmp_path, 0, 5000)
    assert len(load.expected["tool_calls"]) == 1
    assert len(load.text) > 5000


def count_waiting(load: Workload) -> int:
    """The most tokens in a row of which a parser hands nothing on yet."""
    tokenizer = Tokenizer.from_file(str(load.model / "tokenizer.json"))
    source = load_subject(TEMPLATES[load.shape]).source
    parser = ca.analyze(ca.load_renderer(source, bos_token="<s>", eos_token="</s>")).parser(tools=load.tools)
    waiting = [0]
    for token in tokenizer.encode(load.text, add_special_tokens=False).ids:
        waiting.append(0 if parser.feed(tokenizer.decode([token], skip_special_tokens=False)) else waiting[-1] + 1)
    return max(waiting)


def test_the_gaps_of_text_beside_an_attack_are_stalls(tmp_path: Path) -> None:
    """With calls they would be the wait for names as well: at a token every 5 ms, more than half of the bar of 250 ms."""
    waiting = {}
    for title, has_calls in BESIDE.items():
        load = make_workload("vllm", "JSON calls", tmp_path, 400, has_calls=has_calls)
        assert bool(load.expected["tool_calls"]) == has_calls
        assert load.tokens > 200
        waiting[title] = count_waiting(load)
    assert waiting["text"] < 8
    assert waiting["calls"] > 20


def test_no_two_hostile_templates_are_alike() -> None:
    assert len(set(list_hostile(200, "{{ messages }}"))) == 200


def test_a_client_that_hangs_up_hangs_up() -> None:
    hung_up = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b"data: {}\n\n")
                await writer.drain()
                await asyncio.sleep(0.005)
        except ConnectionError:
            pass
        hung_up.append(True)

    async def run() -> Answer:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        answer = await ask(server.sockets[0].getsockname()[1], {}, 10, cut_after=3)
        for _ in range(400):
            if hung_up:
                break
            await asyncio.sleep(0.01)
        server.close()
        return answer

    answer = asyncio.run(run())
    assert answer.cut
    assert len(answer.times) == 4
    assert hung_up == [True]
