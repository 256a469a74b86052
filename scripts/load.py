"""Load and attack: an engine's real API server over a scripted core, with `auto`, with the built-in parsers, and with none.

    build/vllm/bin/python scripts/load.py                    # every part, about ten minutes; prints Markdown
    build/vllm/bin/python scripts/load.py --only streams     # one part: streams, memory, large, hang-ups, hostile
    build/vllm/bin/python scripts/load.py --quick            # a tenth of it, to see that it works
    build/sglang/bin/python scripts/load.py --engine sglang  # what there is for SGLang: streams, memory, hang-ups

Everything runs on the loopback interface, is bounded in count and time, and ends the servers that it starts. What streams is
reasoning, content and calls that the template renders for known fields; every message is read back and held against them.

The processor time is the API process's: HTTP, detokenizing, parsing, and the scripted core, which is the same for all. A gap
is the time between two arrivals on one connection. On a machine that does other work too, compare rows of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from bench import make_text, split_tokens
from cases import load_subject
from corpus import REPOSITORY
from load_client import Answer, JsonObject, ask, ask_many, read_cpu, read_memory
from load_workload import BUILT_IN, PARSERS, TEMPLATES, Workload, get_port, make_workload, render_answer, serve
from serving import Server

import chat_autoparser as ca

_SECONDS = 300.0


# Streams


def measure_streams(engine: str, folder: Path, small: bool) -> Iterator[str]:
    """Throughput, cost and gaps of many parallel streams."""
    tokens, counts = (400, (64,)) if small else (2000, (64, 256))
    yield "**Parallel streams**, one token a step, every message read back"
    yield ""
    figures = ("tokens/s", "µs of the API process a token", "gap p50 ms", "p99", "longest", "events a token", "memory MB")
    yield from _list_header("template", "streams", "parsers", *figures, "right")
    for shape in TEMPLATES:
        load = make_workload(engine, shape, folder, tokens)
        for streams in counts:
            rows = [_measure_row(engine, folder, load, streams, parsers) for parsers in PARSERS]
            for parsers, row, cost in rows:
                ratio = f" ({cost / rows[-1][2]:.2f} times none)" if parsers != "none" else ""
                row[4] += ratio
                yield _make_row(row)


def _measure_row(engine: str, folder: Path, load: Workload, streams: int, parsers: str) -> tuple[str, list[str], float]:
    with serve(load, folder, parsers) as server:
        port = get_port(server)
        asyncio.run(ask_many(port, [load.make_body(parsers)] * 4, 4, _SECONDS))
        cpu, start = read_cpu(server.pid), time.perf_counter()
        answers = asyncio.run(ask_many(port, [load.make_body(parsers)] * streams, streams, _SECONDS))
        seconds, cpu = time.perf_counter() - start, read_cpu(server.pid) - cpu
        memory = read_memory(server.pid)
    right = sum(load.find_fault(answer, parsers) is None for answer in answers)
    total, gaps = load.tokens * streams, sorted(gap * 1000 for answer in answers for gap in answer.gaps)
    events = sum(answer.count_events() for answer in answers) / total
    cost = cpu / total * 1e6
    figures = [f"{total / seconds:,.0f}", f"{cost:.0f}", *(f"{_pick(gaps, share):.0f}" for share in (0.5, 0.99, 1))]
    name = parsers if parsers != "built-in" else " + ".join(filter(None, BUILT_IN[engine][load.shape]))
    figures += [f"{events:.2f}", f"{memory:.0f}", f"{right} / {streams}"]
    return parsers, [load.shape, str(streams), name, *figures], cost


def _pick(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


# Memory


def measure_memory(engine: str, folder: Path, small: bool) -> Iterator[str]:
    """What the API process holds after thousands of requests."""
    batch = 100 if small else 1000
    yield f"**Memory of the API process**, in MB, after each {batch:,} streamed requests with tools, 64 at a time"
    yield ""
    yield from _list_header("parsers", *(f"{batch * number:,}" for number in range(1, 6)), "growth over the last four")
    load = make_workload(engine, "JSON calls", folder, 150)
    for parsers in ("auto", "none"):
        with serve(load, folder, parsers) as server:
            held, wrong = [], 0
            for number in range(5):
                bodies = [load.make_body(parsers) for _ in range(batch)]
                for index, body in enumerate(bodies):  # no two prompts are alike
                    body["messages"] = [{"role": "user", "content": f"Go {number} {index}."}]
                answers = asyncio.run(ask_many(get_port(server), bodies, 64, 60))
                wrong += sum(load.find_fault(answer, parsers) is not None for answer in answers)
                held.append(read_memory(server.pid))
        growth = f"{held[-1] - held[0]:+.1f} MB" + (f"; {wrong} wrong" if wrong else "")
        yield _make_row([parsers, *(f"{megabytes:.0f}" for megabytes in held), growth])


# Large outputs


def measure_large(engine: str, folder: Path, small: bool) -> Iterator[str]:
    """Whether the cost of a token grows with the output, in the library and through the server."""
    million = 100_000 if small else 1_000_000
    yield "**Large outputs in the library**, in tokens of four characters; memory is the peak of what the parser allocates"
    yield ""
    yield from _list_header("template", "output", "µs a token", "an eighth of it", "growth", "peak MB")
    for shape in TEMPLATES:
        source = load_subject(TEMPLATES[shape]).source
        format = ca.analyze(ca.load_renderer(source, bos_token="<s>", eos_token="</s>"))
        for name, make in _list_large(shape, million).items():
            (near, tools), (far, more) = make(1 / 8), make(1)
            costs = [_time_library(format, text, given) for text, given in ((near, tools), (far, more))]
            peak = _trace_library(format, far, more)
            growth = f"{costs[1] / costs[0]:.2f}"
            yield _make_row([shape, name, f"{costs[1]:.2f}", f"{costs[0]:.2f}", growth, f"{peak:.2f}"])
    yield ""
    yield "**Through the server**, one streamed call with one long string: seconds of the API process"
    yield ""
    yield from _list_header("template", "characters", "auto", "none")
    for size in (million // 4, million // 2, million):
        load = make_workload(engine, "tagged calls", folder, 0, size)
        yield _make_row([load.shape, f"{size:,}", *(_time_server(folder, load, parsers) for parsers in ("auto", "none"))])


def _list_large(shape: str, million: int) -> dict[str, Callable[[float], tuple[str, list[JsonObject]]]]:
    subject = load_subject(TEMPLATES[shape])
    case = subject.get("call")
    tools = case.tools or []

    def write(calls: list[JsonObject], given: list[JsonObject]) -> tuple[str, list[JsonObject]]:
        return render_answer(subject.source, subject.eos, given, {"content": None, "tool_calls": calls}), given

    def write_string(length: float) -> tuple[str, list[JsonObject]]:
        return write([{"name": "find_okapi", "arguments": {"habitat": make_text(int(length)), "limit": 1}}], tools)

    def write_arguments(count: float) -> tuple[str, list[JsonObject]]:
        arguments = {f"field_{number}": f"value {number}" for number in range(int(count))}
        properties = {key: {"type": "string", "description": "A field."} for key in arguments}
        function = {"name": "fill", "description": "Fill.", "parameters": {"type": "object", "properties": properties}}
        return write([{"name": "fill", "arguments": arguments}], [{"type": "function", "function": function}])

    def write_calls(count: float) -> tuple[str, list[JsonObject]]:
        arguments = {"habitat": "pen twelve", "limit": 3}
        return write([{"name": "find_okapi", "arguments": arguments}] * int(count), tools)

    return {
        f"one string of {million:,} characters": lambda share: write_string(million * share),
        f"one string of {8 * million:,} characters": lambda share: write_string(8 * million * share),
        "5,000 arguments": lambda share: write_arguments(5000 * share),
        "1,000 calls": lambda share: write_calls(1000 * share),
    }


def _time_library(format: ca.ChatFormat, text: str, tools: list[JsonObject]) -> float:
    """Microseconds a token, the better of two runs."""
    pieces = split_tokens(text)
    best = float("inf")
    for _ in range(2):
        parser = format.parser(tools=tools)
        start = time.thread_time()
        for piece in pieces:
            parser.feed(piece)
        parser.finish()
        best = min(best, (time.thread_time() - start) / len(pieces) * 1e6)
    return best


def _trace_library(format: ca.ChatFormat, text: str, tools: list[JsonObject]) -> float:
    pieces = split_tokens(text)
    parser = format.parser(tools=tools)
    tracemalloc.start()
    for piece in pieces:
        parser.feed(piece)
    parser.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def _time_server(folder: Path, load: Workload, parsers: str) -> str:
    with serve(load, folder, parsers) as server:
        start = read_cpu(server.pid)
        answer = asyncio.run(ask(get_port(server), load.make_body(parsers), 180))
        seconds = read_cpu(server.pid) - start
    if answer.cut:
        return "more than 180"
    fault = load.find_fault(answer, parsers)
    return f"{seconds:.1f}" + (f" (wrong: {fault[:80]})" if fault else "")


# Clients that hang up


def measure_hang_ups(engine: str, folder: Path, small: bool) -> Iterator[str]:
    """What is left of streams whose clients are gone."""
    streams = 16 if small else 64
    rounds = 2 if small else 10
    yield f"**Clients that hang up**: {rounds} rounds of {streams} streams, cut off by the client after 50 arrivals"
    yield ""
    figures = ("memory before, MB", "after", "processor time of an idle second before", "after")
    yield from _list_header("parsers", *figures, "a request then")
    load = make_workload(engine, "JSON calls", folder, 2000)
    for parsers in ("auto", "none"):
        with serve(load, folder, parsers) as server:
            port, body = get_port(server), load.make_body(parsers, pace=2)
            asyncio.run(ask_many(port, [body] * streams, streams, 60, cut_after=50))
            before, quiet = read_memory(server.pid), _measure_idle(server)
            for _ in range(rounds):
                asyncio.run(ask_many(port, [body] * streams, streams, 60, cut_after=50))
            after, idle = read_memory(server.pid), _measure_idle(server)
            fault = load.find_fault(asyncio.run(ask(port, load.make_body(parsers), 60)), parsers)
            yield _make_row([parsers, f"{before:.0f}", f"{after:.0f}", f"{quiet:.2f} s", f"{idle:.2f} s", fault or "right"])


def _measure_idle(server: Server) -> float:
    """Processor time of a second in which nobody asks anything."""
    time.sleep(1)
    before = read_cpu(server.pid)
    time.sleep(1)
    return read_cpu(server.pid) - before


# Hostile templates


BESIDE = {"text": False, "calls": True}
"""The streams beside an attack, and whether they have calls."""


def list_hostile(count: int, source: str) -> Iterator[str]:
    """Templates that a client may send: no two are alike, and each costs more to be understood than to be rendered."""
    print_all = "{% for m in messages %}{{ m.role }}:{{ m.content }}|{% endfor %}"
    recursion = "{% macro f(k) %}{% if k %}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    kinds = (
        lambda n: f"{{# {n} #}}{source}",
        lambda n: f"{{% for i in range({20_000 + n}) %}}{{% endfor %}}{print_all}",
        lambda n: f"{{% set w = {n} %}}" + "{% if w == 1 %}" * 60 + print_all + "{% endif %}" * 60 + print_all,
        lambda n: f"{print_all}{{{{ ('x{n}' * 50000) | length }}}}{{{{ messages | tojson }}}}",
        lambda n: "".join(f"{{% if switch_{n}_{k} %}}{k}{{% endif %}}" for k in range(200)) + print_all,
        lambda n: f"{recursion}{n}{print_all}",
        lambda n: f"{{% for i in range(80) %}}{print_all}{{% endfor %}}{n}",
        lambda n: f"{{{{ messages[0].content {n} }}}}",
    )
    for number in range(count):
        yield kinds[number % len(kinds)](number)


def measure_hostile(engine: str, folder: Path, small: bool) -> Iterator[str]:
    """The longest silence of streams beside requests that bring templates of their own."""
    count = 16 if small else 200
    yield f"**Hostile templates**: {count} requests, each with a chat template of its own, some at a time, beside two streams of a"
    yield "token every 5 ms (`--trust-request-chat-template`). One is text, which is sent as it comes: its gaps are stalls. The"
    yield "other has calls, whose beginning a parser keeps until the name is certain: its gaps are that wait as well"
    yield ""
    figures = (f"{title} {figure}" for title in BESIDE for figure in ("longest gap ms", "p99", "alone"))
    yield from _list_header("at a time", "parsers", "answered", "refused", "not within 20 s", *figures, "streams", "memory MB")
    loads = [make_workload(engine, "JSON calls", folder, 2000, has_calls=has_calls) for has_calls in BESIDE.values()]
    templates = list(list_hostile(count, load_subject(TEMPLATES["JSON calls"]).source))
    for parallel in (4, 50):
        for parsers in ("auto", "none"):
            yield _make_row([str(parallel), parsers, *_measure_attack(folder, loads, parsers, templates, parallel)])


def _measure_attack(folder: Path, loads: list[Workload], parsers: str, templates: list[str], parallel: int) -> list[str]:
    with serve(loads[0], folder, parsers, ["--trust-request-chat-template"]) as server:
        alone = asyncio.run(_stream_all(get_port(server), loads, parsers))
        beside, answers = asyncio.run(_attack(get_port(server), loads, parsers, templates, parallel))
        memory = read_memory(server.pid)
    silence = [figure for each in zip(beside, alone, strict=True) for figure in _measure_silence(*each)]
    faults = [fault for load, streams in zip(loads, beside, strict=True) for fault in _list_faults(load, streams, parsers)]
    statuses = [answer.status for answer in answers if not answer.cut]
    counted = [sum(s == 200 for s in statuses), sum(400 <= s < 600 for s in statuses), len(answers) - len(statuses)]
    return [*map(str, counted), *silence, faults[0][:60] if faults else "right", f"{memory:.0f}"]


def _measure_silence(streams: list[Answer], alone: Answer) -> list[str]:
    gaps = sorted(gap for stream in streams for gap in stream.gaps)
    return [f"{gap * 1000:.0f}" for gap in (_pick(gaps, 1), _pick(gaps, 0.99), max(alone.gaps))]


def _list_faults(load: Workload, streams: list[Answer], parsers: str) -> list[str]:
    return [fault for stream in streams if not stream.cut and (fault := load.find_fault(stream, parsers))]


async def _stream_all(port: int, loads: list[Workload], parsers: str) -> list[Answer]:
    return await asyncio.gather(*(ask(port, load.make_body(parsers, pace=5), 60) for load in loads))


async def _attack(
    port: int, loads: list[Workload], parsers: str, templates: list[str], parallel: int
) -> tuple[list[list[Answer]], list[Answer]]:
    """Streams of each load, one after the other for as long as the attack lasts, at most four minutes, and what came of both."""
    common = {**loads[0].make_body(parsers), "tool_choice": "none", "max_tokens": 20}
    bodies = [{**common, "chat_template": template} for template in templates]
    attack = asyncio.ensure_future(asyncio.wait_for(ask_many(port, bodies, parallel, 20), 240))

    async def stream(load: Workload) -> list[Answer]:
        found: list[Answer] = []
        while not attack.done():
            found.append(await ask(port, load.make_body(parsers, pace=5), 60))
        return found

    beside = await asyncio.gather(*map(stream, loads))
    try:
        return beside, await attack
    except asyncio.TimeoutError:
        return beside, [Answer(cut=True) for _ in bodies]


# The report


PARTS = {
    "streams": measure_streams,
    "memory": measure_memory,
    "large": measure_large,
    "hang-ups": measure_hang_ups,
    "hostile": measure_hostile,
}
ONLY_VLLM = ("large", "hostile")
"""The library is measured once, and SGLang takes no template from a request."""


def _make_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "¦").replace("\n", " ") for cell in cells) + " |"


def _list_header(*cells: str) -> Iterator[str]:
    yield _make_row(cells)
    yield "|" + "---|" * len(cells)


def find_commit() -> str:
    """The commit that is measured."""
    done = subprocess.run(["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure servers under load and attack.")
    parser.add_argument("--only", choices=tuple(PARTS), help="one part alone")
    parser.add_argument("--engine", choices=("vllm", "sglang"), default="vllm")
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server that is up is ended as well
    print(f"Under load (`scripts/load.py`, commit {find_commit()}, {options.engine} {version(options.engine)}):\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        for name, measure in PARTS.items():
            if options.only in (None, name) and (options.engine == "vllm" or name not in ONLY_VLLM):
                for line in measure(options.engine, Path(folder), options.quick):
                    print(line, flush=True)
                print(flush=True)


if __name__ == "__main__":
    main()
