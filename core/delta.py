"""What a parser emits: one piece of reasoning, content or a tool call."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Delta(NamedTuple):
    """One streamed piece of an assistant message.

    ``text`` is a piece of the reasoning, of the content, or of the JSON arguments of the tool call with number
    ``index``. ``id`` and ``name`` are set in the first delta of a call and nowhere else; its text is then empty.
    """

    kind: Literal["reasoning", "content", "tool_call"]
    text: str
    index: int | None = None  # type: ignore[assignment]  # the field's word; nobody searches a delta as a tuple
    id: str | None = None
    name: str | None = None

    def to_openai(self) -> dict[str, Any]:
        """Return the dict that goes into ``choices[].delta`` of a streamed OpenAI chat completion."""
        if self.kind == "content":
            return {"content": self.text}
        if self.kind == "reasoning":
            return {"reasoning_content": self.text}
        if self.id is None:
            return {"tool_calls": [{"index": self.index, "function": {"arguments": self.text}}]}
        function = {"name": self.name, "arguments": self.text}
        return {"tool_calls": [{"index": self.index, "id": self.id, "type": "function", "function": function}]}
