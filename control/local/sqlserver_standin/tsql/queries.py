"""Runs a SELECT over row sources: reads what the condition leaves possible, filters, sorts, cuts, shows.

A condition on the columns that a source is sorted by bounds what is read of it, as an index would: without
that, a page of a large change table would cost a look at every row.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from operator import xor
from typing import Any, NamedTuple, Protocol, cast

from wrackline.control.local.sqlserver_standin.model.ordering import order_key
from wrackline.control.local.sqlserver_standin.model.relations import END, RowSource
from wrackline.control.local.sqlserver_standin.model.tables import Cells
from wrackline.control.local.sqlserver_standin.tsql.compiling import AGGREGATES, WHOLE, Compiler, common_type
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import (
    Constant,
    Derived,
    Expression,
    From,
    FunctionCall,
    NamedColumn,
    Operation,
    Query,
    RelationName,
    ResultItem,
    RowNumber,
)
from wrackline.control.local.sqlserver_standin.tsql.scope import EMPTY, Compiled, NameScope, RunningQuery
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType
from wrackline.control.local.sqlserver_standin.wire.tokens import ShownColumn
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_Bound = tuple[object, ...]


class QueryRows(NamedTuple):
    """A result: columns and rows, and by which columns (from 1) they are sorted."""

    columns: Sequence[ShownColumn]
    rows: Sequence[Cells]
    order: Sequence[int] = ()


class Sources(RunningQuery, Protocol):
    """The session, which also knows what a table's name means."""

    def source(self, table: RelationName) -> RowSource:
        """Return what a name in FROM gives."""
        ...


def run(query: Query, session: Sources) -> QueryRows:
    """Run a query."""
    if not query.more:
        return _single(query, session)
    parts = [
        _single(replace(query, more=(), order=()), session),
        *(_single(one, session) for one in query.more),
    ]
    if len({len(part.columns) for part in parts}) > 1:
        raise ServerError(205, "All queries combined using UNION must have an equal number of expressions.")
    columns = []
    for each in zip(*(part.columns for part in parts), strict=True):
        of = common_type([column.of for column in each])
        columns.append(ShownColumn(each[0].name, of, any(column.nullable for column in each)))
    rows = [
        tuple(fitted(one.of, cell) for one, cell in zip(columns, row, strict=True))
        for part in parts
        for row in part.rows
    ]
    if query.order:
        scope = NameScope([("", column) for column in columns])
        rows = _sorted(rows, query.order, Compiler(scope, session))
    return QueryRows(columns, rows)


def _single(query: Query, session: Sources) -> QueryRows:
    scope, rows, sorted_by = _read(query, session)
    compiler = Compiler(scope, session)
    if query.where is not None:
        rows = filter(compiler.condition(query.where), rows)
    items = list(_expanded(query.items, scope))
    called = {one for item in items if item.value is not None for one in _aggregates(item.value)}
    if called:
        found = _aggregated(called, list(rows), compiler)
        compiler, rows = Compiler(scope, session, found), iter([()])
    numbered = [item.value for item in items if isinstance(item.value, RowNumber)]
    if numbered:
        rows = iter(_numbered(list(rows), numbered, compiler))
        places = {one: len(scope.columns) + at for at, one in enumerate(numbered)}
        compiler = Compiler(scope, session, numbers=places)
    compiled = [compiler.compile(cast("Expression", item.value)) for item in items]
    columns = [_shown(item, one, scope) for item, one in zip(items, compiled, strict=True)]
    order = _ordered(query.order, items)
    if order and not _comes_sorted(order, compiler, sorted_by):
        rows = iter(_sorted(list(rows), order, compiler))
    if query.top is not None:
        rows = islice(rows, int(cast("int", compiler.compile(query.top).value(()))))
    values = [one.value for one in compiled]
    made = [tuple([value(row) for value in values]) for row in rows]
    shown = [at for one, _ in order for at, item in enumerate(items, 1) if item.value == one]
    return QueryRows(columns, made, shown)


def _read(query: Query, session: Sources) -> tuple[NameScope, Iterator[Cells], Sequence[int]]:
    """Return the columns of FROM, its rows, and by what a single table's rows are sorted."""
    if query.source is None:
        return EMPTY, iter([()]), ()
    if isinstance(query.source, RelationName):
        source = session.source(query.source)
        scope = NameScope([(query.source.alias, column) for column in source.columns])
        low: _Bound = ()
        high: _Bound = ()
        if query.where is not None:
            bounds = KeyBounds(scope, source.sorted_by, Compiler(scope, session))
            low, high = bounds.low(query.where), bounds.high(query.where)
        return scope, source.between(low, high), source.sorted_by
    columns, rows = _joined(query.source, session)
    return NameScope(columns), iter(rows), ()


def _joined(one: From, session: Sources) -> tuple[list[tuple[str, ShownColumn]], list[Cells]]:
    if isinstance(one, RelationName):
        source = session.source(one)
        return [(one.alias, column) for column in source.columns], list(source.between((), ()))
    if isinstance(one, Derived):
        found = run(one.query, session)
        return [(one.alias, column) for column in found.columns], list(found.rows)
    left, left_rows = _joined(one.left, session)
    right, right_rows = _joined(one.right, session)
    if one.kind == "LEFT":
        right = [(alias, column._replace(nullable=True)) for alias, column in right]
    columns = left + right
    fits: Callable[[Cells], bool] = lambda _row: True  # noqa: E731
    if one.on is not None:
        fits = Compiler(NameScope(columns), session).condition(one.on)
    near = _near(one.on, NameScope(columns), len(left), right_rows)
    rows: list[Cells] = []
    for row in left_rows:
        found_rows = [whole for other in near(row) if fits(whole := row + other)]
        rows += found_rows or ([row + (None,) * len(right)] if one.kind == "LEFT" else [])
    return columns, rows


def _near(
    on: Expression | None, scope: NameScope, width: int, right_rows: Sequence[Cells]
) -> Callable[[Cells], Sequence[Cells]]:
    """Return what finds the rows on the right that a row on the left may fit: by a whole number, or all.

    Of a server with two hundred databases, each pair of rows would else be looked at.
    """
    for part in [] if on is None else _conjuncts(on):
        if not isinstance(part, Operation) or part.sign != "=":
            continue
        places = sorted(scope.find(side) for side in part.sides if isinstance(side, NamedColumn))
        whole = all(scope.columns[place][1].of.name in WHOLE for place in places)
        if len(places) == 2 and places[0] < width <= places[1] and whole:
            found: defaultdict[Cell, list[Cells]] = defaultdict(list)
            for row in right_rows:
                found[row[places[1] - width]].append(row)
            return lambda row: found.get(row[places[0]], [])
    return lambda _row: right_rows


def _expanded(items: Iterable[ResultItem], scope: NameScope) -> Iterator[ResultItem]:
    """Put columns in the place of stars."""
    for item in items:
        if item.value is not None:
            yield item
            continue
        for alias, column in scope.columns:
            if item.name.lower() in {"", alias.lower()}:
                yield ResultItem(NamedColumn((alias, column.name) if alias else (column.name,)), column.name)


def _shown(item: ResultItem, one: Compiled, scope: NameScope) -> ShownColumn:
    of = SqlType("int") if one.of.name == "null" else one.of
    if one.place is None:
        return ShownColumn(item.name, of, one.nullable)
    column = scope.columns[one.place][1]
    return column._replace(name=item.name or column.name)


def _ordered(
    order: Iterable[tuple[Expression, bool]], items: Sequence[ResultItem]
) -> list[tuple[Expression, bool]]:
    """Put expressions in the place of aliases and of ordinals."""
    found = []
    for one, descends in order:
        if isinstance(one, Constant) and isinstance(one.value, int):
            found.append((cast("Expression", items[one.value - 1].value), descends))
            continue
        names = {item.name.lower(): item.value for item in items if item.name and item.value is not None}
        alias = (
            names.get(one.parts[0].lower()) if isinstance(one, NamedColumn) and len(one.parts) == 1 else None
        )
        found.append((alias or one, descends))
    return found


def _comes_sorted(
    order: Sequence[tuple[Expression, bool]], compiler: Compiler, sorted_by: Sequence[int]
) -> bool:
    places = [None if descends else compiler.compile(one).place for one, descends in order]
    return bool(places) and places == list(sorted_by[: len(places)])


def _sorted(rows: list[Cells], order: Sequence[tuple[Expression, bool]], compiler: Compiler) -> list[Cells]:
    """Sort; NULL comes before every value."""
    for one, descends in reversed(order):
        compiled = compiler.compile(one)

        def key(row: Cells, compiled: Compiled = compiled) -> tuple[bool, Any]:
            cell = compiled.value(row)
            return (False, 0) if cell is None else (True, order_key(compiled.of, cell))

        rows.sort(key=key, reverse=descends)
    return rows


def _numbered(rows: list[Cells], wanted: Sequence[RowNumber], compiler: Compiler) -> list[Cells]:
    """Put the numbers of ROW_NUMBER behind each row."""
    made = [list(row) for row in rows]
    for one in wanted:
        keys = [compiler.compile(part).value for part in one.partition]
        places = _sorted([(*row, at) for at, row in enumerate(rows)], one.order, compiler)
        counts: Counter[Cells] = Counter()
        for row in places:
            among = tuple(key(row) for key in keys)
            counts[among] += 1
            made[cast("int", row[-1])].append(counts[among])
    return [tuple(row) for row in made]


def _aggregates(one: Expression) -> Iterator[FunctionCall]:
    if isinstance(one, FunctionCall) and one.name in AGGREGATES:
        yield one
        return
    for name in getattr(one, "__slots__", ()):
        held = getattr(one, name)
        for part in held if isinstance(held, tuple) else (held,):
            if hasattr(part, "__slots__") and not isinstance(part, Query | SqlType):
                yield from _aggregates(part)


def _aggregated(
    called: Iterable[FunctionCall], rows: Sequence[Cells], compiler: Compiler
) -> dict[FunctionCall, tuple[SqlType, Cell]]:
    found: dict[FunctionCall, tuple[SqlType, Cell]] = {}
    for one in called:
        if one.name in {"COUNT", "COUNT_BIG"}:
            of = SqlType("bigint" if one.name == "COUNT_BIG" else "int")
            counted = compiler.compile(one.arguments[0]).value if one.arguments else None
            found[one] = of, sum(counted is None or counted(row) is not None for row in rows)
            continue
        compiled = compiler.compile(one.arguments[0])
        cells = [cell for row in rows if (cell := compiled.value(row)) is not None]
        if one.name == "SUM":
            found[one] = compiled.of, sum(cast("list[int]", cells)) if cells else None
            continue
        if one.name == "CHECKSUM_AGG":
            found[one] = SqlType("int"), reduce(xor, cast("list[int]", cells)) if cells else None
            continue
        best = max if one.name == "MAX" else min
        of = compiled.of
        found[one] = of, best(cells, key=lambda cell: cast("Any", order_key(of, cell))) if cells else None
    return found


class KeyBounds:
    """Finds between which sort keys a condition's rows lie; a bound may be too wide, never too narrow."""

    def __init__(self, scope: NameScope, sorted_by: Sequence[int], compiler: Compiler) -> None:
        self._scope = scope
        self._sorted_by = sorted_by
        self._compiler = compiler

    def low(self, one: Expression, depth: int = 0) -> _Bound:
        """Return what no key of a hit is less than."""
        return self._bound(one, depth, {"=", ">", ">="})

    def high(self, one: Expression, depth: int = 0) -> _Bound:
        """Return what no key of a hit, cut to this length, is greater than; nothing is no bound."""
        return self._bound(one, depth, {"=", "<", "<="})

    def _bound(self, one: Expression, depth: int, signs: set[str]) -> _Bound:
        if depth >= len(self._sorted_by) or not isinstance(one, Operation):
            return ()
        if one.sign == "OR":
            sides = [self._bound(side, depth, signs) for side in one.sides]
            if not all(sides):
                return ()
            return min(sides) if ">" in signs else max(sides, key=_last)
        if one.sign == "AND":
            return self._of_all(_conjuncts(one), depth, signs)
        found = self._compares(one, depth)
        if found is None or found[0] not in signs:
            return ()
        sign, key = found
        return (key, END) if sign == ">" else (key,)

    def _of_all(self, parts: list[Expression], depth: int, signs: set[str]) -> _Bound:
        for part in parts:
            found = self._compares(part, depth)
            if found is not None and found[0] == "=":
                rest = [other for other in parts if other is not part]
                return (found[1], *(self._of_all(rest, depth + 1, signs) if rest else ()))
        bounds = [bound for part in parts if (bound := self._bound(part, depth, signs))]
        if not bounds:
            return ()
        return max(bounds) if ">" in signs else min(bounds, key=_last)

    def _compares(self, one: Expression, depth: int) -> tuple[str, object] | None:
        """Return sign and sort key of a comparison between the column at this depth and a constant."""
        if depth >= len(self._sorted_by) or not isinstance(one, Operation) or len(one.sides) != 2:
            return None
        left, right = one.sides
        if not isinstance(left, NamedColumn) or self._scope.find(left) != self._sorted_by[depth]:
            return None
        compiled = self._compiler.compile(right)
        of = self._scope.columns[self._sorted_by[depth]][1].of
        value = compiled.value(()) if compiled.constant else None
        if value is None or compiled.of.name == "null":
            return None
        try:
            key = order_key(of, fitted(of, value))
        except ServerError:
            return None  # a constant that the column can't hold: the comparison itself decides
        return (one.sign, key) if key == order_key(compiled.of, value) or isinstance(value, str) else None


def _last(bound: _Bound) -> _Bound:
    """Return the last key that this upper bound, of fewer columns perhaps, lets through."""
    return (*bound, END)


def _conjuncts(one: Expression) -> list[Expression]:
    if isinstance(one, Operation) and one.sign == "AND":
        return reduce(lambda found, side: found + _conjuncts(side), one.sides, list[Expression]())
    return [one]
