"""What the plugins of serving engines share: nothing here knows an engine, and nothing imports one.

:class:`Formats` keeps the formats of a server, :class:`Served` is one of them with a tokenizer, and :class:`OutputReader` reads an
output with it: text and token ids in, :class:`~chat_autoparser.Delta` out. :class:`TagMaker` makes the structural tags that hold
requests to calls; :func:`describe_tools` and :class:`ToolChoice` take tools, and the choice among them, from any engine's objects.

Typical use::

    formats = Formats(log)
    format = formats.pin(template, "the model's chat template")     # at the start; raises AutoparserError
    found = await asyncio.wrap_future(formats.submit(source))       # a request's own template; never raises
    served = Served(format, tokenizer)
    reader = OutputReader(format, describe_tools(request.tools), prompt, special=served.special, decode=served.decode)
    deltas = reader.feed(text, ids)                                 # never raises
    deltas = reader.finish()
    cut = reader.incomplete                                         # the numbers of the calls that did not end
"""

from __future__ import annotations

from ..constrain.calls import Reasoned
from ..tools import ToolChoice, describe_tools
from .counters import publish_counters
from .formats import Formats
from .reader import Outbox, OutputReader, SplitReader, check_policy, make_parser
from .special import Served, decode_apart, list_named_tokens, list_special_tokens
from .tags import JSON_CALLS, TagMaker, check_size

__all__ = [
    "JSON_CALLS",
    "Formats",
    "Outbox",
    "OutputReader",
    "Reasoned",
    "Served",
    "SplitReader",
    "TagMaker",
    "ToolChoice",
    "check_policy",
    "check_size",
    "decode_apart",
    "describe_tools",
    "list_named_tokens",
    "list_special_tokens",
    "make_parser",
    "publish_counters",
]
