"""A client that costs little: many streams of one server at a time, the moment of each arrival, and what came.

Answers are read while they stream and understood afterwards, so that the client does not slow the server that it measures.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge import fold

_CLOCK_TICKS = 100  # a second, of /proc

JsonObject = dict[str, Any]


@dataclass
class Answer:
    """What came on one connection, and when. `cut` tells that the client hung up."""

    times: list[float] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list, repr=False)
    cut: bool = False

    @property
    def gaps(self) -> list[float]:
        """Seconds between arrivals, the wait for the first one left out."""
        return [after - before for before, after in zip(self.times, self.times[1:], strict=False)]

    @property
    def status(self) -> int:
        head = b"".join(self.parts[:1])
        return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/") else 0

    def count_events(self) -> int:
        """How many events of a stream came, put together on the way or not."""
        return sum(part.count(b"data: {") for part in self.parts)

    def read_events(self) -> list[JsonObject]:
        """The events of a streamed answer."""
        lines = _join_chunks(b"".join(self.parts)).split(b"\n")
        return [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]

    def read_message(self) -> JsonObject:
        """The message that the events add up to. Raises ValueError where no client could take them."""
        return fold(take_fields(choice["delta"]) for event in self.read_events() for choice in event.get("choices", ()))


def take_fields(delta: JsonObject) -> JsonObject:
    """What is said in a delta, under the names that `judge.fold` knows."""
    reasoning = delta.get("reasoning") or delta.get("reasoning_content")
    fields = {"reasoning_content": reasoning, "content": delta.get("content"), "tool_calls": delta.get("tool_calls")}
    return {key: value for key, value in fields.items() if value}


def _join_chunks(raw: bytes) -> bytes:
    """The body of a response with `Transfer-Encoding: chunked`, as far as it came; of another, all of it."""
    head, _, body = raw.partition(b"\r\n\r\n")
    if b"chunked" not in head.lower():
        return body
    return b"".join(_list_chunks(body))


def _list_chunks(body: bytes) -> Iterator[bytes]:
    place = 0
    while True:
        end = body.find(b"\r\n", place)
        if end < 0 or not body[place:end]:
            return
        size = int(body[place:end], 16)
        yield body[end + 2 : end + 2 + size]
        place = end + 2 + size + 2


class _Receiver(asyncio.Protocol):
    def __init__(self, request: bytes, answer: Answer, cut_after: int | None) -> None:
        self._request, self._answer, self._cut_after = request, answer, cut_after
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._answer.times.append(time.perf_counter())
        self._answer.parts.append(data)
        if self._cut_after is not None and len(self._answer.times) > self._cut_after:
            self._answer.cut = True
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def ask(port: int, body: JsonObject, seconds: float, cut_after: int | None = None) -> Answer:
    """Post a chat request and read until the server closes, the time is up, or so many arrivals have come."""
    content = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
    answer = Answer()
    loop = asyncio.get_running_loop()
    transport, receiver = await loop.create_connection(lambda: _Receiver(request, answer, cut_after), "127.0.0.1", port)
    try:
        await asyncio.wait_for(receiver.ended, seconds)
    except asyncio.TimeoutError:
        answer.cut = True
        transport.abort()
    return answer


async def ask_many(
    port: int, bodies: Sequence[JsonObject], parallel: int, seconds: float, cut_after: int | None = None
) -> list[Answer]:
    """Post all of them, so many at a time; `seconds` is for each."""
    gate = asyncio.Semaphore(parallel)

    async def ask_one(body: JsonObject) -> Answer:
        async with gate:
            return await ask(port, body, seconds, cut_after)

    return list(await asyncio.gather(*map(ask_one, bodies)))


def read_cpu(pid: int) -> float:
    """Seconds of processor time that a process has used, in all of its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS


def read_memory(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
