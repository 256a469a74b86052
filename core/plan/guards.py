"""The conditions under which a rule that no render shows may be taken, and which of them are alike."""

from __future__ import annotations

from typing import Literal

Guard = Literal[
    "",  # nothing more
    "tool",  # behind it a tool is named, as far as the tools are known
    "known",  # behind it a tool of the request is named
    "apart",  # so it is, and a line or an answer has ended before it
    "headless",  # so it is, and a line begins: the first sign of the mark is missing
    "first",  # so it is, and nothing visible came before
    "fresh",  # nothing visible came before
    "told",  # a text or a line ends right before
    "orphan",  # so it does, and no call has begun in it
    "alone",  # no sentence goes on around it, nor is it an example of a conversation
    "line",  # it has its line for itself, and is no example
    "closed",  # a sentence or a line ends right before, it is no example, and a text and what ends reasoning follow
    "turn",  # it is the model's own, and no example of a conversation
    "sample",  # never: it tells that a conversation is shown, or that a text holds what its end closes
    "over",  # what ends the turn stands right before
    "thought",  # reasoning stood in this turn
    "owed",  # of the end of the call before it a part was left out
    "typed",  # behind it stands structure or the end, and before it a value that has ended, no text where none is wanted, or one
    # that would have it otherwise
    "followed",  # anything visible follows
    "structure",  # structure follows
    "ending",  # structure or the end of the output follows
    "fitting",  # what is behind it begins as something does that renders show there
    "rest",  # another argument or call follows behind signs and words of the format, however it is written
    "again",  # behind it a tool of the request is named, and an argument that the call before it has
    "entry",  # an argument of this tool begins that was not given yet
    "shape",  # JSON with the shape of calls follows
    "whole",  # so it does, and nothing else
    "named",  # a tool and its parameters follow
    "called",  # so they do, the tool right behind it, and a line or an answer has ended before it
    "bare",  # so they do without a mark, where a line or the answer begins, and more than that tells of the format
    "header",  # the mark that ends a header follows
    "wrapped",  # it is a mark of another format that closes calls
    "token",  # it begins a special token with which the output ends
    "like",  # something stands there that is like what could
    "fence",  # it opens code that begins with a call
    "unfenced",  # it ends such code
    "late",  # the text would not end otherwise: structure or the end of the output follows
    "last",  # the text would not end otherwise: nothing more follows
    "unquoted",  # the text would not end otherwise: an argument of this tool begins that was not given yet
]
"""What must hold for a rule that no render shows."""

SHAPES: frozenset[Guard] = frozenset(("shape", "named", "called", "bare", "whole"))
OF_FIELDS: frozenset[Guard] = frozenset(("named", "called", "bare"))
"""Those of calls that are told by their parameters."""
GUESSED: frozenset[Guard] = SHAPES | {"rest"}
"""Those of what comes behind all else that a template may write."""
OF_TOOLS: frozenset[Guard] = frozenset(("tool", "known", "again", "apart", "headless", "first"))
NO_EXAMPLE: frozenset[Guard] = frozenset(("line", "apart", "headless"))
"""Those of what is no example, nor code."""
LATE: frozenset[Guard] = frozenset(("late", "last", "unquoted"))
