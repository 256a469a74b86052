"""Where the strings of a JSON value stand that has not ended yet."""

from __future__ import annotations

import re
from bisect import bisect_left

from ..plan.constants import skip_blank

_SIGN = re.compile(r"\\.?|\"|\n", re.DOTALL)


class Strings:
    """The strings in a list or an object, as far as it was looked at. Places are counted from the beginning of the output, so that
    what stands before the value may leave the buffer; each character is looked at once."""

    def __init__(self) -> None:
        self._begin = -1  # of the value
        self._seen = 0
        self._quotes: list[int] = []
        self._broken = True  # whether it is no JSON, for a line ends within a string

    def holds(self, buffer: str, start: int, gone: int, at: int) -> bool:
        """Whether a place stands within a string of the value that begins at a start behind the white space there; ``gone``
        characters have left the buffer."""
        if self._begin != start + gone:
            begin = skip_blank(buffer, start)
            self._begin, self._seen, self._quotes = start + gone, begin + gone, []
            self._broken = buffer[begin : begin + 1] not in ("{", "[")
        while not self._broken and self._seen < at + gone:
            found = _SIGN.search(buffer, self._seen - gone, at)
            if found is None:
                self._seen = at + gone
            elif found[0] == "\\":  # what it escapes is not there yet
                break
            else:
                self._seen = found.end() + gone
                self._broken = found[0] == "\n" and len(self._quotes) % 2 == 1
                self._quotes += [found.start() + gone] if found[0] == '"' else []
        return not self._broken and bisect_left(self._quotes, at + gone) % 2 == 1
