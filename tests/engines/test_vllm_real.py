"""The real engine of vLLM, where a model may reason and need not: a call that is required comes all the same.

Nothing waits there for an end of reasoning that may never come: the grammar holds from the first token, and has a place for
reasoning. Random weights show it, for they obey nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")

from clients import ENDPOINTS, ask_chat
from engines import Vllm
from served import Served, check_bound, make_bound, serve_subject

if TYPE_CHECKING:
    from engines import Engine

pytestmark = pytest.mark.more  # one more start of a real server

TRIES = 6


@pytest.fixture(scope="module")
def real(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert isinstance(engine, Vllm)
    with serve_subject(engine, "JSON in tags", "added", tmp_path_factory.mktemp("real"), real=True) as served:
        yield served


@pytest.mark.parametrize(("endpoint", "choice"), [("chat", "required"), ("chat", "named"), ("responses", "required")])
def test_a_model_that_may_reason_and_need_not_is_held_to_a_call(real: Served, endpoint: str, choice: str) -> None:
    """It calls, or is cut amid reasoning that it has begun; free text never comes back."""
    case, called = replace(make_bound(real, choice), kwargs={"enable_thinking": True}), 0
    for _ in range(TRIES):
        reply = ENDPOINTS[endpoint](real.server.url, case, {}, False)
        assert not (reply.message["content"] or "").strip(), reply
        if reply.message["tool_calls"] and reply.finish != "length":
            check_bound(reply)
            called += 1
        else:
            assert reply.finish == "length", reply
    assert called


def test_a_budget_ends_reasoning(real: Served) -> None:
    """Random weights reason on until they are cut; with a budget the markers are found, and the rest is content."""
    plain = real.subject.get("content {'enable_thinking': True}", "content")
    case = replace(plain, kwargs={"enable_thinking": True}, max_tokens=60)
    begun = {"vllm_xargs": {"script_prefix": "<think>\n"}}
    for stream in (False, True):
        free = ask_chat(real.server.url, case, begun, stream)
        assert free.message["content"] is None, free
        bound = ask_chat(real.server.url, case, {**begun, "thinking_token_budget": 8}, stream)
        assert bound.reasoning_tokens is not None
        assert 0 < bound.reasoning_tokens <= 10 < (free.reasoning_tokens or 0)
        assert bound.message["reasoning_content"]
        assert bound.message["content"], bound
