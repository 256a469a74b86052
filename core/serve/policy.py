"""How a server reads what no template renders: the policy that its environment names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from ..errors import AutoparserError
from ..recover import REPAIR, Policy, PolicyName, get_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..format import ChatFormat
    from ..parse import StreamParser

VARIABLE = "CHAT_AUTOPARSER_POLICY"
"""The environment variable that names it: ``strict``, ``lenient`` or ``repair`` (as without it)."""


def check_policy() -> Policy:
    """Return the server's policy. Raises :class:`AutoparserError` for a name that none has."""
    named: Any = os.environ.get(VARIABLE, "").strip().lower() or "repair"
    try:
        return get_policy(named)
    except ValueError as error:
        raise AutoparserError(f"{VARIABLE} is not understood: {error}") from None


def make_parser(
    format: ChatFormat,
    tools: Iterable[Mapping[str, Any]] | None,
    prompt: str | None = None,
    *,
    asked: Any = None,
    **options: Any,
) -> StreamParser:
    """Make a format's parser with the policy that a request has ``asked`` for by its name, else with the server's.

    The other arguments are those of :meth:`ChatFormat.parser`. A name that no policy has is refused when a server starts
    (:func:`check_policy`), and counts as none here.
    """
    try:
        policy = get_policy(cast("PolicyName", asked)) if isinstance(asked, str) else check_policy()
    except ValueError:
        return make_parser(format, tools, prompt, **options)
    except AutoparserError:
        policy = REPAIR
    return format.parser(tools, prompt, policy=policy, **options)
