"""Formats taught by example: edges of the graph that are learnt from outputs instead of renders."""
