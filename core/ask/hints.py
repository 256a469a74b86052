"""What a template's source tells of itself before anything is rendered: hints where asking is worth while, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from jinja2 import nodes

_READ_OF_ALL = frozenset(("role", "type"))
"""What templates read of messages and of schemas, and compare with words that nobody chooses."""
_SHORT = 4  # characters of a text that may be exchanged, or begin one, where the source does not say which do


class Hints(NamedTuple):
    """``constants`` are the texts in a template's expressions, such as those it compares, cuts out or adds; ``exchanged`` those
    that it may write in another way within a text; ``fields`` what it reads of what has a role, ``compared`` the texts it
    compares its switches with, by switch; ``begun`` the texts that it may ask for where a text or a line of it begins; ``asked``
    the texts that it compares anything with, looks for or exchanges, ``read`` the arguments that it reads by name."""

    constants: frozenset[str] = frozenset()
    exchanged: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    compared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    begun: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()


def read_hints(tree: nodes.Template, switches: Set[str]) -> Hints:
    """Return what a parsed source tells. Costs one walk over it for each kind of hint."""
    constants = frozenset(_list_texts([tree]))
    exchanged = _list_exchanged(tree, constants)
    compared, asked = _list_compared(tree, switches), _list_asked(tree) | exchanged
    begun = _list_begun(tree, exchanged)
    return Hints(constants, exchanged, _list_fields(tree), compared, begun, asked, frozenset(_list_arguments(tree)))


def join_hints(each: Iterable[Hints]) -> Hints:
    """Return what several templates tell together."""
    kinds = list(zip(*each, strict=True)) or [()] * len(Hints._fields)
    constants, exchanged, fields, begun, asked, read = (frozenset().union(*kinds[number]) for number in (0, 1, 2, 4, 5, 6))
    return Hints(constants, exchanged, fields, tuple(pair for compared in kinds[3] for pair in compared), begun, asked, read)


def _list_texts(roots: Iterable[nodes.Node]) -> Iterator[str]:
    """Yield the texts among the constants of expressions: themselves or below them."""
    return (node.value for node in nodes.Template([*roots]).find_all(nodes.Const) if isinstance(node.value, str))


def _list_exchanged(tree: nodes.Template, constants: frozenset[str]) -> frozenset[str]:
    """Return the texts that are exchanged for others; where it is not said for which, all short ones may be."""
    filters = (each.args for each in tree.find_all(nodes.Filter) if each.name == "replace")
    methods = (each.args for each in tree.find_all(nodes.Call) if getattr(each.node, "attr", "") == "replace")
    meant = [args[0] for args in (*filters, *methods) if args]
    told = all(isinstance(node, nodes.Const) for node in meant)
    return frozenset(_list_texts(meant)).union(() if told else (text for text in constants if len(text) <= _SHORT))


def _list_begun(tree: nodes.Template, exchanged: frozenset[str]) -> frozenset[str]:
    """Return the signs of what is compared, what texts are asked to begin with, and what is exchanged behind a line break."""
    texts = {text for text in _list_texts(tree.find_all(nodes.Compare)) if len(text) == 1}
    texts |= {text for text in _list_operands(tree, "startswith") if len(text) <= _SHORT}
    texts |= {text[1:] for text in exchanged if text[:1] == "\n"}
    return frozenset(text for text in texts if text and not (text.isascii() and text.isalnum()) and not text.isspace())


def _list_operands(tree: nodes.Template, *methods: str) -> Iterator[str]:
    """Yield the texts that some methods are called with."""
    calls = (call for call in tree.find_all(nodes.Call) if getattr(call.node, "attr", "") in methods)
    return _list_texts(node for call in calls for node in call.args)


def _list_asked(tree: nodes.Template) -> frozenset[str]:
    """Return the texts with which something is compared, but for roles and types, in lists and tables, too, or that texts are asked
    to begin or end with."""
    compared = [node for node in tree.find_all(nodes.Compare) if _READ_OF_ALL.isdisjoint(_list_read(node))]
    listed = tree.find_all((nodes.List, nodes.Tuple, nodes.Dict))
    return frozenset((*_list_texts((*compared, *listed)), *_list_operands(tree, "startswith", "endswith")))


def _list_read(root: nodes.Node) -> Iterator[str]:
    """Yield what an expression reads by name."""
    within = nodes.Template([root])
    yield from (node.attr for node in within.find_all(nodes.Getattr))
    yield from _list_texts(node.arg for node in within.find_all(nodes.Getitem))


def _list_arguments(tree: nodes.Template) -> Iterator[str]:
    """Yield the names by which something is read of the arguments of a call."""
    yield from (node.attr for node in tree.find_all(nodes.Getattr) if "arguments" in _list_read(node.node))
    yield from _list_texts(node.arg for node in tree.find_all(nodes.Getitem) if "arguments" in _list_read(node.node))


def _list_fields(tree: nodes.Template) -> frozenset[str]:
    """Return what is read by name of what a role is read of, which are messages."""
    read: dict[str, set[str]] = {}  # by what is read of, as jinja2 writes it: its nodes are equal, but have no equal hashes
    for got in tree.find_all(nodes.Getattr):
        read.setdefault(repr(got.node), set()).add(got.attr)
    for item in tree.find_all(nodes.Getitem):
        read.setdefault(repr(item.node), set()).update(_list_texts([item.arg]))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr == "get":
            read.setdefault(repr(call.node.node), set()).update(_list_texts(call.args[:1]))
    return frozenset().union(*(names for names in read.values() if "role" in names))


def _list_compared(tree: nodes.Template, switches: Set[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the texts with which switches are compared, or what is set to them or to what is made of them."""
    meant = {name: frozenset((name,)) for name in switches}
    for assign in tree.find_all(nodes.Assign):
        target = assign.target
        own = f"{target.name}.{target.attr}" if isinstance(target, nodes.NSRef) else getattr(target, "name", "")
        meant[own] = meant.get(own, frozenset()).union(*(meant.get(name, ()) for name in _list_names(assign.node)))
    found: dict[str, dict[str, None]] = {}
    for compare in tree.find_all(nodes.Compare):
        for name in sorted(frozenset().union(*(meant.get(name, ()) for name in _list_names(compare)))):
            found.setdefault(name, {}).update(dict.fromkeys(_list_texts([compare])))
    return tuple((name, tuple(texts)) for name, texts in found.items())


def _list_names(root: nodes.Node) -> set[str]:
    """Return the names in an expression, those of a namespace with its own before a dot."""
    within = nodes.Template([root])  # so that the expression itself is found, too
    dotted = ((node.node, node.attr) for node in within.find_all(nodes.Getattr))
    names = {node.name for node in within.find_all(nodes.Name)}
    return names | {f"{node.name}.{attr}" for node, attr in dotted if isinstance(node, nodes.Name)}
