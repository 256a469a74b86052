"""Formats shown to people: in words, on a terminal, on a page, in a server's log. Nothing but the command stands on this."""
