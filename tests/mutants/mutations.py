"""A module's text comes in, its mutants go out: each is the module with one small fault inside a function.

Right because only bodies of functions are changed (constants and classes are made before a test begins), and
because a mutant's name contains the function and the texts before and after, not a line: it survives edits
elsewhere in the file.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED = {"min": "max", "max": "min", "all": "any", "any": "all"}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One fault: its name in the list, the function that has it, and what makes the module's tree with it."""

    name: str
    function: str
    first_line: int  # of the function, decorators included: as its code object says
    line: int
    tree: Callable[[], ast.Module]  # made when it is asked for: a tree is some megabytes


def of_expression(node: ast.expr) -> Iterator[ast.expr]:
    """Give what may stand instead of an expression."""
    match node:
        case ast.Compare(ops=[one]):
            yield ast.Compare(node.left, [COMPARED[type(one)]()], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for left_out in range(len(values)):
                rest = [value for at, value in enumerate(values) if at != left_out]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COUNTED:
            yield ast.BinOp(left, COUNTED[type(op)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.IfExp(test=test, body=body, orelse=orelse) if simple(test):
            yield ast.IfExp(test, orelse, body)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield ast.Call(ast.Name(SWAPPED[name], ast.Load()), node.args, node.keywords)


def of_statement(node: ast.stmt) -> Iterator[ast.stmt]:
    """Give what may stand instead of a statement."""
    match node:
        case ast.Expr(value=ast.Constant()):  # a docstring
            return
        case ast.Expr(value=ast.Yield() | ast.YieldFrom() as value):  # it stays a generator
            yield ast.Expr(ast.BoolOp(ast.And(), [ast.Constant(False), value]))
        case ast.Expr() | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.AugAssign(op=op) if type(op) in COUNTED:
            yield ast.AugAssign(node.target, COUNTED[type(op)](), node.value)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.If(test=test) if simple(test):
            yield ast.If(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()


def simple(test: ast.expr) -> bool:
    """Say whether no other rule turns this condition round."""
    inverted = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return not inverted and not isinstance(test, ast.Compare | ast.BoolOp | ast.Constant)


def mutants(module: str, text: str) -> list[Mutant]:
    """Make every mutant of a module."""
    tree = ast.parse(text)
    made: list[Mutant] = []
    seen: Counter[str] = Counter()
    for function, node in functions(tree, ""):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        for path, old in inside(node.body, ()):
            for new in of_statement(old) if isinstance(old, ast.stmt) else of_expression(old):
                words = f"{module} {function}: {shown(old)} -> {shown(new)}"
                seen[words] += 1
                name = words if seen[words] == 1 else f"{words} #{seen[words]}"
                tree_of = partial(changed, tree, node, path, new)
                made.append(Mutant(name, function, first, old.lineno, tree_of))
    return made


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Give each outermost function with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTION):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")


Path = tuple[str | int, ...]


def inside(value: object, path: Path) -> Iterator[tuple[Path, ast.stmt | ast.expr]]:
    """Give each statement and expression below, with the way to it; types and error texts stay out."""
    if isinstance(value, list):
        for at, one in enumerate(value):
            yield from inside(one, (*path, at))
    elif isinstance(value, ast.AST):
        if isinstance(value, ast.stmt | ast.expr):
            yield path, value
        if not isinstance(value, ast.Raise | ast.JoinedStr):
            for name in value._fields:
                if name not in {"annotation", "returns", "decorator_list", "args_type"}:
                    yield from inside(getattr(value, name), (*path, name))


def changed(tree: ast.Module, function: ast.AST, path: Path, new: ast.AST) -> ast.Module:
    """Copy a module with one node below a function's body replaced."""
    memo: dict[int, Any] = {}
    made = copy.deepcopy(tree, memo)
    owner: Any = memo[id(function)].body
    for step in path[:-1]:
        owner = owner[step] if isinstance(step, int) else getattr(owner, step)
    last = path[-1]
    new = ast.copy_location(
        copy.deepcopy(new), owner[last] if isinstance(last, int) else getattr(owner, last)
    )
    if isinstance(last, int):
        owner[last] = new
    else:
        setattr(owner, last, new)
    return ast.fix_missing_locations(made)


def shown(node: ast.AST) -> str:
    """Show a node in one line; of a block only its head."""
    return ast.unparse(node).split("\n")[0]
