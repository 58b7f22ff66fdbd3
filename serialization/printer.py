"""Prints graphs as code: statements, control flow, whole functions.

    print_function(f)        # the text of one function, as `.code` shows it

The text keeps the names of variables.  Here and in PyTorch it compiles to a graph that does the
same.
"""

from __future__ import annotations

import ast
from typing import Any

from .. import types as T
from ..ir import Block, Function, Graph, Node, Value
from .inlining import inlined_nodes
from .naming import Names, is_identifier
from .print_nodes import node_expr, place_of
from .print_values import Spelling, call, constant_expr, name_expr
from .unparse import unparse

ENDLESS = 2**63 - 1

DEFERRED = {
    "prim::fork": ("__forked_function", "fork"),
    "prim::awaitable": ("__awaitable_function", "awaitable"),
}
"""For node kinds whose graph is printed as an inner function: the name of that function, and of the
function to which it is passed."""


def print_function(function: Function) -> str:
    """The code of a function.  Tensors and other constants without a literal show as
    `CONSTANTS.c0`."""
    return print_with_constants(function)[0]


def print_with_constants(function: Function) -> tuple[str, list[Any]]:
    """The code of a function, and the table of its constants."""
    spelling = Spelling()
    definition = function_ast(function, function.name.rpartition(".")[2], spelling)
    own = definition.args.args[:1]
    if own and own[0].arg == "self" and isinstance(function.schema.arguments[0].type, T.ClassType):
        own[0].annotation = None  # archives say the class of self, `.code` does not
    return str(unparse(ast.Module([definition], []))), spelling.constants.values


def function_ast(function: Function, name: str, spelling: Spelling) -> ast.FunctionDef:
    """The definition of a function, with the name `name`."""
    graph, schema = function.graph, function.schema
    names = Names()
    printer = BodyPrinter(graph, names, spelling)
    args, defaults = [], []
    for value, formal in zip(graph.inputs, schema.arguments):
        name_of = formal.name if is_identifier(formal.name) else names.fresh(formal.name)
        printer.names_of[value] = names.reserve(name_of)
        args.append(ast.arg(name_of, spelling.type(formal.type)))
        if formal.has_default:
            defaults.append(constant_expr(formal.default, formal.type, spelling))
        else:  # Python has no argument without default after one with a default
            defaults = []
    body = printer.statements(graph.block)
    result = graph.outputs[0] if graph.outputs else None
    if result is not None:
        returned = ast.Return(printer.typed(result))
        body.append(returned)
    arguments = ast.arguments([], args, None, [], [], None, defaults)
    returns = spelling.type(schema.returns[0].type if schema.returns else T.NONE)
    return ast.FunctionDef(name, arguments, body or [ast.Pass()], [], returns)


class BodyPrinter:
    """Prints the blocks of one graph.  A name belongs to one variable in the whole function."""

    def __init__(self, graph: Graph, names: Names, spelling: Spelling) -> None:
        self.names, self.spelling = names, spelling
        self.inlined = inlined_nodes(graph)
        self.names_of: dict[Value, str] = {}
        self.same: dict[Value, Value] = {}  # inputs of a fork's body -> the values passed to it

    # Values

    def expr(self, v: Value) -> ast.expr:
        """The expression for a value: its name, its constant, or the node that computes it."""
        while v in self.same:
            v = self.same[v]
        if v.node.kind == "prim::Constant":
            return self.constant(v)
        if v.node in self.inlined:
            return node_expr(self, v.node)
        return name_expr(self.names_of[v])

    def typed(self, v: Value) -> ast.expr:
        """`expr`, with an annotation if it is the literal None but has another type."""
        made = self.expr(v)
        if v.is_constant and v.constant is None and v.type != T.NONE:
            return self.spelling.annotate(v.type, made)
        return made

    def constant(self, v: Value) -> ast.expr:
        return constant_expr(v.constant, v.type, self.spelling)

    def inputs(self, node: Node) -> list[ast.expr]:
        return [self.expr(v) for v in node.inputs]

    def name(self, v: Value) -> str:
        """Give a value a new name."""
        made = self.names_of[v] = self.names.fresh(v.name)
        return made

    # Statements

    def statements(self, block: Block) -> list[ast.stmt]:
        body: list[ast.stmt] = []
        open_withs: list[tuple[Node, list[ast.stmt]]] = []
        exits = matching_exits(block)
        for node in block.nodes:
            if node.kind == "prim::Constant" or node in self.inlined:
                continue
            if node in exits:
                statement, inner = self.with_statement(node)
                body.append(statement)
                open_withs.append((exits[node], body))
                body = inner
            elif open_withs and open_withs[-1][0] is node:
                body = close(open_withs.pop()[1], body)
            else:
                for made in self.node(node):
                    made.span = place_of(self, node)  # type: ignore[attr-defined]
                    body.append(made)
        return body

    def node(self, node: Node) -> list[ast.stmt]:
        if node.kind == "prim::If":
            return self.conditional(node)
        if node.kind == "prim::Loop":
            return self.loop(node)
        if node.kind == "prim::SetAttr":
            owner, value = self.inputs(node)
            target = ast.Attribute(owner, node.attributes["name"], ast.Store())
            return [ast.Assign([target], value)]
        if node.kind in DEFERRED:
            return self.deferred(node)
        made = node_expr(self, node)
        if not node.outputs:
            return [ast.Expr(made)] if node.kind != "prim::TupleUnpack" else []
        targets: list[ast.expr] = [ast.Name(self.name(v), ast.Store()) for v in node.outputs]
        is_unpacked = len(targets) > 1 or node.kind in ("prim::TupleUnpack", "prim::ListUnpack")
        left = ast.Tuple(targets, ast.Store()) if is_unpacked else targets[0]
        return [ast.Assign([left], made)]

    def with_statement(self, node: Node) -> tuple[ast.With, list[ast.stmt]]:
        inner: list[ast.stmt] = []
        output = node.outputs[0] if node.outputs else None
        alias = ast.Name(self.name(output), ast.Store()) if output and output.uses else None
        item = ast.withitem(self.expr(node.inputs[0]), alias)
        return ast.With([item], inner), inner

    def conditional(self, node: Node) -> list[ast.stmt]:
        test = self.expr(node.inputs[0])
        targets = [self.name(v) for v in node.outputs]
        branches = []
        wanted = [
            self.branch_types(*pair)
            for pair in zip(node.outputs, *(b.returns for b in node.blocks))
        ]
        for i, block in enumerate(node.blocks):
            body = self.statements(block)
            for target, types, value in zip(targets, wanted, block.returns):
                body.append(self.assign(target, types[i], value))
            branches.append(body or [ast.Pass()])
        return [ast.If(test, *branches)]

    @staticmethod
    def branch_types(output: Value, *values: Value) -> list[T.Type]:
        """The types to write for the values that the branches of an `if` assign to one variable.

        They are the types of the values, if readers join these to the variable's type, else the
        type of the variable.
        """
        own = [v.type for v in values]
        if T.unify(*own) == output.type and not isinstance(output.type, T.UnionType):
            return own
        return [output.type] * len(own)

    def assign(self, target: str, wanted: T.Type, value: Value) -> ast.stmt:
        """The statement `target = value`, with an annotation if the value has another type."""
        made, name = self.expr(value), ast.Name(target, ast.Store())
        is_none = value.is_constant and value.constant is None
        if value.type != wanted or is_none and wanted != T.NONE:
            return ast.AnnAssign(name, self.spelling.type(wanted), made, 1)
        return ast.Assign([name], made)

    # Loops

    def loop(self, node: Node) -> list[ast.stmt]:
        """A `for` if only the count ends the loop, else a `while`, which counts if there is a
        count, too."""
        count, go, *initial = node.inputs
        body = node.blocks[0]
        turn, *parameters = body.parameters
        next_go, *_ = body.returns
        made = []
        for parameter, output, value in zip(parameters, node.outputs, initial):
            name = self.name(output) if output.name else self.name(parameter)
            self.names_of[output] = self.names_of[parameter] = name
            made.append(self.assign(name, parameter.type, value))
        if is_constant(go, True) and is_constant(next_go, True):
            target = ast.Name(self.name(turn), ast.Store())
            inner = self.statements(body) + self.carry(node, None, None)
            return [
                *made,
                ast.For(target, call("range", self.expr(count)), inner or [ast.Pass()], []),
            ]
        counted = not is_constant(count, ENDLESS) or bool(turn.uses)
        known = None if counted else carried_test(node)
        if known is not None:
            test = self.names_of[known]
            return [
                *made,
                ast.While(
                    name_expr(test), self.statements(body) + self.carry(node, None, None), []
                ),
            ]
        test = self.names.fresh()
        if counted:
            made.append(assignment(self.name(turn), ast.Constant(0)))
            start = call("torch.gt", self.expr(count), ast.Constant(0))
            if not is_constant(go, True):
                start = call("torch.__and__", start, self.expr(go))
            made.append(assignment(test, start))
        else:
            made.append(assignment(test, self.expr(go)))
        inner = self.statements(body) + self.carry(node, test, turn if counted else None)
        return [*made, ast.While(name_expr(test), inner, [])]

    def carry(self, node: Node, test: str | None, turn: Value | None) -> list[ast.stmt]:
        """The statements at the end of a loop body, which assign the values for the next iteration.

        test: the variable that says whether there is one, if any.  turn: the loop counter, if it is
        counted explicitly.
        """
        body = node.blocks[0]
        targets: list[str] = []
        values: list[ast.expr] = []
        made: list[ast.stmt] = []
        if turn is not None:
            following = self.names.fresh()
            made.append(
                assignment(
                    following, call("torch.add", name_expr(self.names_of[turn]), ast.Constant(1))
                )
            )
            go = call("torch.lt", name_expr(following), self.expr(node.inputs[0]))
            if not is_constant(body.returns[0], True):
                go = call("torch.__and__", go, self.expr(body.returns[0]))
            assert test is not None, "a turn is counted by a test"
            targets += [test, self.names_of[turn]]
            values += [go, name_expr(following)]
        elif test is not None:
            targets.append(test)
            values.append(self.expr(body.returns[0]))
        for parameter, value in zip(body.parameters[1:], body.returns[1:]):
            if value is not parameter:
                targets.append(self.names_of[parameter])
                values.append(self.typed(value))
        return made + parallel(targets, values)

    def deferred(self, node: Node) -> list[ast.stmt]:
        """A fork or awaitable: an inner function without arguments, and a call that takes it."""
        stem, form = DEFERRED[node.kind]
        inner, graph = self.names.fresh(stem), node.attributes["Subgraph"]
        self.same.update(zip(graph.inputs, node.inputs))
        self.inlined |= inlined_nodes(graph)
        body = self.statements(graph.block)
        body += [ast.Return(self.typed(v)) for v in graph.outputs]
        nothing = ast.arguments([], [], None, [], [], None, [])
        return [
            ast.FunctionDef(inner, nothing, body or [ast.Pass()], [], None),
            assignment(self.name(node.output), call(form, name_expr(inner))),
        ]


def carried_test(node: Node) -> Value | None:
    """The parameter of a loop body that always equals the loop's condition, if there is one."""
    _, go, *initial = node.inputs
    body = node.blocks[0]
    for parameter, value, following in zip(body.parameters[1:], initial, body.returns[1:]):
        if value is go and following is body.returns[0] and parameter.type == T.BOOL:
            return parameter
    return None


def assignment(target: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(target, ast.Store())], value)


def parallel(targets: list[str], values: list[ast.expr]) -> list[ast.stmt]:
    """The assignment `a, b = x, y`, which reads all values before it writes a variable."""
    if not targets:
        return []
    if len(targets) == 1:
        return [assignment(targets[0], values[0])]
    names = ast.Tuple([ast.Name(t, ast.Store()) for t in targets], ast.Store())
    return [ast.Assign([names], ast.Tuple(values, ast.Load()))]


def is_constant(v: Value, value: int) -> bool:
    return (
        v.is_constant
        and v.constant is value
        or v.is_constant
        and not isinstance(value, bool)
        and v.constant == value
    )


def close(outer: list[ast.stmt], inner: list[ast.stmt]) -> list[ast.stmt]:
    """End the body of a `with`, which gets a `pass` if it is empty; return the outer statements."""
    if not inner:
        inner.append(ast.Pass())
    return outer


def matching_exits(block: Block) -> dict[Node, Node]:
    """The pairs prim::Enter -> prim::Exit in this block that nest like `with` statements.

    Other nodes of these kinds are printed as calls of `__enter__` and `__exit__`.
    """
    pairs: dict[Node, Node] = {}
    stack: list[Node] = []
    for node in block.nodes:
        if node.kind == "prim::Enter" and exit_count(node) == 1:
            stack.append(node)
        elif node.kind == "prim::Exit":
            if stack and stack[-1].inputs[0] is node.inputs[0]:
                pairs[stack.pop()] = node
    return pairs


def exit_count(node: Node) -> int:
    """The number of prim::Exit nodes for a prim::Enter: one for each way out of the `with`."""
    return sum(user.kind == "prim::Exit" for user, _ in node.inputs[0].uses)
