"""What is put into a parsed template before it is compiled, so that it can be bounded, and what is learnt from it.

Two filters watch what a Jinja sandbox cannot: :data:`WEIGH` is put around each part of the output, operand of ``~``,
literal of a list or object and slice, and :data:`TICK` at the head of each body that may run many times, with the
length of the constant text in it. Their names hold a space, so that no template can name them. What they do is in
:mod:`.sandbox`.
"""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.idtracking import VAR_LOAD_RESOLVE
from jinja2.visitor import NodeTransformer

WEIGH = "weigh value"
TICK = "tick clock"


class Generator(CodeGenerator):
    """Writes the code of a template, and notes in its tree which variables the code looks up.

    The names are those that ``jinja2.meta.find_undeclared_variables`` finds, by generating all the code once more.
    """

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        self._variables: set[str] = set()
        super().visit_Template(node, frame)
        node.variables = frozenset(self._variables)  # type: ignore[attr-defined]

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        for action, name in frame.symbols.loads.values():
            if action == VAR_LOAD_RESOLVE and name is not None:
                self._variables.add(name)


class Instrument(NodeTransformer):
    """Puts the filters that bound a template into its tree, and notes how each name is first used."""

    def __init__(self) -> None:
        self.first_use: dict[str, str] = {}

    def visit_Name(self, node: nodes.Name) -> nodes.Name:  # noqa: N802
        if node.ctx != "param":
            self.first_use.setdefault(node.name, node.ctx)
        return node

    def visit_Assign(self, node: nodes.Assign) -> nodes.Assign:  # noqa: N802
        node.node = self.visit(node.node)
        node.target = self.visit(node.target)
        return node

    def _visit_parts(self, node: nodes.Output | nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [_weighed(part) for part in node.nodes]
        return node

    visit_Output = visit_Concat = _visit_parts  # noqa: N815

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        return _weighed(node) if isinstance(node.arg, nodes.Slice) else node

    def _visit_literal(self, node: nodes.List | nodes.Dict | nodes.Tuple) -> nodes.Expr:
        self.generic_visit(node)
        return _weighed(node) if getattr(node, "ctx", "load") == "load" else node

    visit_List = visit_Dict = visit_Tuple = _visit_literal  # noqa: N815

    def _visit_body(self, node: nodes.For | nodes.Macro | nodes.CallBlock | nodes.Block) -> nodes.Node:
        size = nodes.Const(_measure_text(node.body), lineno=node.lineno)
        if isinstance(node, nodes.Macro):
            self.first_use.setdefault(node.name, "store")
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_filtered(size, TICK), lineno=node.lineno))
        return node

    visit_For = visit_Macro = visit_CallBlock = visit_Block = _visit_body  # noqa: N815


def _weighed(node: nodes.Expr) -> nodes.Expr:
    return node if _is_constant(node) else _filtered(node, WEIGH)


def _filtered(node: nodes.Expr, name: str) -> nodes.Expr:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _is_constant(node: nodes.Node) -> bool:
    if isinstance(node, (nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair)):
        return all(map(_is_constant, node.iter_child_nodes()))
    return isinstance(node, (nodes.Const, nodes.TemplateData))


def _measure_text(body: Iterable[nodes.Node]) -> int:
    """Return the length of the constant text in a body, less what is in bodies that are charged on their own."""
    size = 0
    for node in body:
        if isinstance(node, nodes.TemplateData):
            size += len(node.data)
        elif isinstance(node, nodes.For):
            size += _measure_text(node.else_)
        elif not isinstance(node, (nodes.Macro, nodes.CallBlock, nodes.Block)):
            size += _measure_text(node.iter_child_nodes())
    return size
