"""One-line weakenings of Python source, made on its syntax tree.

Every mutant changes one place: a comparison, an operator, a number, a condition, a call, a statement. Sentences for
people (arguments of `raise`, names of parts in messages) are left alone, and so are annotations, defaults, `strict=`, the
limits and comparisons with them, and the estimates of work and memory: of these only the statement as a whole is taken out.
Methods of balls are exchanged with their neighbours (lower and upper ends, interior and closed containment, a ball and
its midpoint), for a checker lives on these.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Mod: ast.FloorDiv, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_NAMES = {
    "abs_lower": ("abs_upper", "mid"), "abs_upper": ("abs_lower", "mid"), "lower": ("upper", "mid"), "upper": ("lower", "mid"),
    "contains_interior": ("contains", "overlaps"), "overlaps": ("contains", "contains_interior"), "min": ("max",),
    "max": ("min",), "all": ("any",), "any": ("all",), "real": ("imag",), "imag": ("real",), "rows": ("columns",),
    "columns": ("rows",), "nrows": ("ncols",), "ncols": ("nrows",), "low": ("high",), "high": ("low",), "p": ("q",), "q": ("p",),
}  # fmt: skip
_VALUES = {"real", "imag", "rows", "columns", "p", "q"}
_ESTIMATES = {"_spend", "work", "bits", "_products", "_length", "_inverse_length"}
"""Functions that say how much work there is, not what is true; they return a whole number, or nothing."""
_WORDS = {"shown"}
"""Functions that shorten a foreign value for a message."""
_BALLS = {"ball", "solve", "inv", "sqrt", "sigma", "first", "second"}
"""Functions and methods whose result, or the value they are called on, is also tried as its midpoint alone."""


@dataclass(frozen=True)
class Mutant:
    """A changed module; `place` is the function it changes (or the name it assigns), `lines` those of its statement.

    The key holds a fingerprint of the function's text: what was said of a mutant counts until its function changes.
    """

    file: str
    place: str
    fingerprint: str
    line: int
    lines: range
    change: str
    build: Callable[[], ast.Module]

    @property
    def key(self) -> str:
        return f"{self.file} | {self.place} {self.fingerprint} | {self.change}"


def mutants(path: Path, name: str | None = None) -> Iterator[Mutant]:
    """All of a file, each with a key of its own; `name` is that of the file in its package."""
    text = path.read_text(encoding="utf-8")
    source = ast.parse(text)
    seen: dict[str, int] = {}
    for place, statement in _places(source):
        if _is_left_alone(place.split(".")[-1], statement):
            continue
        fingerprint = _fingerprint(ast.get_source_segment(text, statement) or "")
        for line, before, after, build in _changes(_alone(source, statement), statement):
            change = f"{before} → {after}"
            count = seen[place + change] = seen.get(place + change, 0) + 1
            lines = _statement_lines(statement, line)
            numbered = change if count == 1 else f"{change} ({count})"
            yield Mutant(name or path.name, place, fingerprint, line, lines, numbered, build)


def by_hand(path: Path, name: str, place: str, before: str, after: str) -> Mutant:
    """A weakening that is written down as text."""
    text = path.read_text(encoding="utf-8")
    if text.count(before) != 1:
        raise ValueError(f"{path.name}: {before!r} occurs {text.count(before)} times; expected once")
    line = text[: text.index(before)].count("\n") + 1
    change = " ".join(f"{before} → {after}".split())
    lines = range(line, line + before.count("\n") + 1)
    return Mutant(name, place, "by hand", line, lines, change, lambda: ast.parse(text.replace(before, after)))


def _fingerprint(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:6]


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Functions and methods with their qualified names, and assignments of constants."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    yield f"{node.name}.{member.name}", member
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not _is_limit(node.value):
            yield node.targets[0].id, node


def _statement_lines(function: ast.stmt, line: int) -> range:
    """Of the innermost statement around a line; of one with a body, its head."""
    around = [n for n in ast.walk(function) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
    inner = max(around, key=lambda node: node.lineno)
    body = getattr(inner, "body", None)
    end = max(inner.lineno, body[0].lineno - 1) if body else inner.end_lineno or inner.lineno
    return range(inner.lineno, end + 1)


def _alone(source: ast.Module, statement: ast.stmt) -> ast.Module:
    """The module without its other functions and methods: what has to be copied and compiled for a mutant."""
    body: list[ast.stmt] = [
        node for node in source.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    for node in source.body:
        if node is statement:
            body.append(node)
        elif isinstance(node, ast.ClassDef) and statement in node.body:
            body.append(ast.ClassDef(node.name, node.bases, node.keywords, [statement], []))
    return ast.Module(body, [])


def _is_left_alone(name: str, statement: ast.stmt) -> bool:
    if name in _ESTIMATES and isinstance(statement, ast.FunctionDef) and statement.returns is not None:
        return ast.unparse(statement.returns) in ("int", "None")
    return name in _WORDS


def _is_limit(value: ast.expr) -> bool:
    """A number alone: how much is read or done, not what is true."""
    return isinstance(value, ast.Constant) or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.LShift))


def _changes(source: ast.Module, statement: ast.stmt) -> Iterator[tuple[int, str, str, Callable[[], ast.Module]]]:
    roots: list[ast.AST] = list(statement.body) if isinstance(statement, ast.FunctionDef) else [statement]
    for node in (found for root in roots for found in _walk(root)):
        for replacement in _replacements(node):
            line = getattr(node, "lineno", getattr(getattr(node, "target", node), "lineno", 0))
            yield line, _text(node), _text(replacement), partial(_replaced, source, node, replacement)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that is computed; no sentences, no annotations."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    if isinstance(node, ast.Compare) and _is_limit_name(node.comparators[-1]):
        return
    yield node
    if isinstance(node, (ast.Raise, ast.JoinedStr)) or (isinstance(node, ast.Expr) and _estimates(node.value)):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_limit_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id.lstrip("_").isupper()


def _estimates(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("spend", "_spend", "afford", "_afford")
    )


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    for kind, change in _RULES:
        if isinstance(node, kind):
            yield from change(node)


def _comparison(node: ast.Compare) -> Iterator[ast.AST]:
    for index, operator in enumerate(node.ops):
        changed = copy.deepcopy(node)
        changed.ops[index] = _COMPARISONS[type(operator)]()
        yield changed
    for index, side in enumerate(node.comparators):
        if isinstance(side, ast.Constant) and isinstance(side.value, str):
            changed = copy.deepcopy(node)
            changed.comparators[index] = ast.Constant(side.value + "?")
            yield changed


def _operation(node: ast.BinOp) -> Iterator[ast.AST]:
    if type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)


def _connective(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for index in range(len(node.values)):
        rest = [value for other, value in enumerate(node.values) if other != index]
        yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _sign(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, (int, float)):
        yield ast.Constant(node.value + 1)
        if node.value == 1:
            yield ast.Constant(0)


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[ast.AST]:
    for value in (True, False):
        if not (isinstance(node, ast.While) and value):
            changed = copy.copy(node)
            changed.test = ast.Constant(value)
            yield changed


def _call(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for other in _NAMES.get(name, ()):
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = other
        else:
            changed.func = ast.Name(other, ast.Load())
        yield changed
    if name in _BALLS:
        yield ast.Call(ast.Attribute(node, "mid", ast.Load()), [], [])
        if isinstance(node.func, ast.Attribute):
            inner = ast.Call(ast.Attribute(node.func.value, "mid", ast.Load()), [], [])
            yield ast.Call(ast.Attribute(inner, node.func.attr, ast.Load()), node.args, node.keywords)
    bare = isinstance(node.func, ast.Attribute) and not node.args
    if bare and (name in _NAMES or name in ("mid", "transpose", "sqrt", "derivative")):
        yield node.func.value  # x.upper() → x
    if name in ("abs", "reversed", "sorted") and node.args:
        yield node.args[0]
    if len(node.args) == 2 and name in ("at_least", "arb", "acb", "_in_basis", "_shorter", "fmpq"):
        changed = copy.deepcopy(node)
        changed.args.reverse()
        yield changed


def _attribute(node: ast.Attribute) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for other in _NAMES.get(node.attr, ()):
            if node.attr in _VALUES:
                yield ast.Attribute(node.value, other, ast.Load())


def _name(node: ast.Name) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load) and node.id in ("low", "high"):
        yield ast.Name(_NAMES[node.id][0], ast.Load())


def _strings(node: ast.Tuple | ast.List | ast.Set) -> Iterator[ast.AST]:
    """Collections without one of their entries."""
    if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and len(node.elts) > 1:
        for index in range(len(node.elts)):
            if isinstance(node.elts[index], ast.Constant) and isinstance(node.elts[index].value, str):
                changed = copy.deepcopy(node)
                del changed.elts[index]
                yield changed


def _comprehension(node: ast.comprehension) -> Iterator[ast.AST]:
    for index in range(len(node.ifs)):
        changed = copy.copy(node)
        changed.ifs = node.ifs[:index] + node.ifs[index + 1 :]
        yield changed


def _jump(node: ast.stmt) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Expr, ast.Raise, ast.AugAssign)):
        yield ast.Pass()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Break):
        yield ast.Continue()
        yield ast.Pass()


def _augmented(node: ast.AugAssign) -> Iterator[ast.AST]:
    if type(node.op) in _OPERATORS:
        yield ast.AugAssign(node.target, _OPERATORS[type(node.op)](), node.value)


def _slice(node: ast.Slice) -> Iterator[ast.AST]:
    if node.lower is not None:
        yield ast.Slice(None, node.upper, node.step)
    if node.upper is not None:
        yield ast.Slice(node.lower, None, node.step)
    if node.step is not None:
        yield ast.Slice(node.lower, node.upper, None)


_RULES: list[tuple[type | tuple[type, ...], Callable[..., Iterator[ast.AST]]]] = [
    (ast.Compare, _comparison), (ast.BinOp, _operation), (ast.BoolOp, _connective), (ast.UnaryOp, _sign),
    (ast.Constant, _constant), ((ast.If, ast.IfExp, ast.While), _condition), (ast.Call, _call), (ast.Attribute, _attribute),
    (ast.Name, _name), ((ast.Tuple, ast.List, ast.Set), _strings), (ast.comprehension, _comprehension),
    ((ast.Expr, ast.Raise, ast.AugAssign, ast.Continue, ast.Break), _jump), (ast.AugAssign, _augmented), (ast.Slice, _slice),
]  # fmt: skip


def _replaced(source: ast.Module, node: ast.AST, replacement: ast.AST) -> ast.Module:
    """A copy of the tree in which one node is another."""
    memo = {id(node): ast.copy_location(copy.deepcopy(replacement), node) if hasattr(node, "lineno") else replacement}
    return ast.fix_missing_locations(copy.deepcopy(source, memo))


def _text(node: ast.AST) -> str:
    if isinstance(node, (ast.If, ast.While)):
        return f"{'if' if isinstance(node, ast.If) else 'while'} {ast.unparse(node.test)}"
    if isinstance(node, ast.Slice):
        return f"[{ast.unparse(node)}]"
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else text[:89] + "…"
