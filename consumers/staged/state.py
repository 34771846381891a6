"""What is kept about a table, in a table of its own that has one row.

    number    rises by one with each commit of ours
    version   of this form
    source    whose copy it is
    made      what the service says of the table that distinguishes it from a later one; null: not made yet
    shape     columns by identity, and their places
    applied   how far it has come

A service locks or refuses by table, so one table of states would make all merges wait for each other.  Each
commit moves the number from what was read, and if that changes no row, nothing of it is kept: that is the
only guard between two consumers.  A table that was dropped and made again has numbers that were there before,
so the row must also be about the table that was read of.

In: a state, or a row.  Out: statements, and the state.  The JSON is percent-encoded, so it has no quote and
no backslash, on which the services disagree.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from wrackline.consumers.contract import applied_text
from wrackline.consumers.contract.modes import MADE_OTHERWISE, OTHER_MODE
from wrackline.consumers.contract.plan import Applied, MergePlan, OurColumns, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration
from wrackline.consumers.staged.dialect import Primitive, StagedDialect
from wrackline.consumers.staged.places import StagedPlace
from wrackline.consumers.staged.shape import StagedColumn, StagedShape
from wrackline.schemas import untrusted
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.tables.evolution import ChangeType, Widening
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.type_json import type_from_json, type_to_json
from wrackline.schemas.tables.types import ColumnType

VERSION: Final = 2  # before it, each column was an object with all its names and its type
_READS: Final = (1, VERSION)
COLUMNS: Final = ("number", "version", "source", "made", "shape", "applied")
_SAFE = "{}[]:, "  # what JSON consists of, except for its quotes

UNREADABLE = define(
    "staged.state_unreadable",
    Definite,
    "{state} says what is kept about {table} in a form that this version does not know",
    hint="a newer version of Wrackline wrote it; install that version where wrackline consume runs",
)
BROKEN = define(
    "staged.state_broken",
    OperatorNeeded,
    "what {state} keeps about {table} can't be read: it is not one row as Wrackline writes it",
    hint="set {state} back to what it was, and {table} to the same moment; or start over: {drop};"
    " then: wrackline snapshot start <pipeline.toml> '<table>'",
)
TYPE_CHANGED = define(
    "staged.type_changed",
    OperatorNeeded,
    "column {column} of {place} is {old} and can't become {new} with the values it has",
    hint="read it again into a new table: {drop}; then: wrackline snapshot start <pipeline.toml> '{table}'",
)


class StateNames(NamedTuple):
    """How errors name a table and what is kept about it, and the statements that take them away."""

    table: str
    state: str
    drop: str  # what it holds: the next batch makes it again
    drop_all: str  # also its view, and what is kept about it


@dataclass(frozen=True, slots=True)
class StagedState:
    """The one row."""

    source: TableId
    shape: StagedShape
    applied: Applied = field(default_factory=Applied)
    number: int = 1
    made: str | None = None

    @property
    def making(self) -> str | None:
        """What is written about the making of the table."""
        return None if self.made is None else quote(self.made, safe=_SAFE)

    def then(
        self, *, shape: StagedShape | None = None, applied: Applied | None = None, made: str | None = None
    ) -> "StagedState":
        """Return the state behind the next commit, which changes these."""
        return StagedState(
            self.source, shape or self.shape, applied or self.applied, self.number + 1, made or self.made
        )


@dataclass(frozen=True, slots=True)
class StateMove:
    """From a number to the next one, with what is written."""

    state: str  # the table, as a statement names it
    number: int
    writes: Mapping[str, str]  # expressions
    same: str  # a condition: it is about the same table, because one that is made again counts from 1 again

    @property
    def condition(self) -> str:
        """What the row has to be."""
        return f"number = {self.number} AND {self.same}"

    @property
    def text(self) -> str:
        """The statement: it changes one row, or the state had another number."""
        sets = ", ".join(f"{name} = {value}" for name, value in self.writes.items())
        return f"UPDATE {self.state} SET {sets} WHERE {self.condition}"  # noqa: S608 - names and texts are quoted


def first_state(state: StagedState, table: str, dialect: StagedDialect) -> str:
    """Write the creation of the table with its row, which one of two consumers does.

    Where the other one is refused, it finds the table when it tries again.
    """
    columns = ", ".join(f"{value} AS {name}" for name, value in _row(state, dialect).items())
    unless_there = "" if dialect.transactional_ddl else "IF NOT EXISTS "
    return f"CREATE TABLE {unless_there}{table} AS SELECT {columns}"


def state_move(before: StagedState, after: StagedState, table: str, dialect: StagedDialect) -> StateMove:
    """Write what has changed, and with a shape the version of its form."""
    was, now = _row(before, dialect), _row(after, dialect)
    changed = {name for name in COLUMNS if now[name] != was[name]}
    changed |= {"version"} if "shape" in changed else set()
    writes: dict[str, str] = {name: now[name] for name in COLUMNS if name in changed}
    made = before.making
    same = "made IS NULL" if made is None else f"made = {dialect.literal(made)}"
    return StateMove(table, before.number, writes, same)


def state_query(table: str) -> str:
    """Ask for the row, in the order of COLUMNS."""
    return f"SELECT {', '.join(COLUMNS)} FROM {table}"  # noqa: S608 - the name is quoted


def removal(place: StagedPlace, dialect: StagedDialect) -> tuple[str, str, str]:
    """Take a table away: its view first, and last what says whose it was."""
    view, table, state = map(dialect.path, (place.view, place.table, place.state))
    return f"DROP VIEW IF EXISTS {view}", f"DROP TABLE IF EXISTS {table}", f"DROP TABLE IF EXISTS {state}"


def state_names(place: StagedPlace, dialect: StagedDialect) -> StateNames:
    """Name a table whose state has a table of its own.

    Redshift drops no table under a view.  Elsewhere a view stays, and readers keep their rights.
    """
    steps = removal(place, dialect)
    drop = "; ".join(steps[:2] if dialect.transactional_ddl else steps[1:2])
    return StateNames(dialect.path(place.table), dialect.path(place.state), drop, "; ".join(steps))


def check_made(state: StagedState, plan: MergePlan, names: StateNames) -> None:
    """Refuse a table that was made for another mode, or with other columns of ours."""
    table, made, wanted = plan.table.id, state.shape.mode.value, plan.mode.value
    if made != wanted:
        raise OTHER_MODE(target=names.table, made=made, wanted=wanted, drop=names.drop, table=table)
    if state.shape.ours != plan.ours:
        raise MADE_OTHERWISE(target=names.table, drop=names.drop, table=table)


def check_types(table: TableId, changes: Sequence[Alteration], names: StateNames) -> None:
    """Refuse a type that a column can't become with its values."""
    for one in changes:
        if isinstance(one, ChangeType) and one.widening is Widening.OTHER:
            types = {"old": one.old.source, "new": one.new.source}
            raise TYPE_CHANGED(
                column=repr(one.name), place=names.table, drop=names.drop, table=table, **types
            )


def read_state(row: Sequence[Any], names: StateNames) -> StagedState:
    """Read a row that others may have changed; the names are for the errors."""
    try:
        number, version, source, made, shape, applied = row
        known = version in _READS
        found = StagedState(
            TableId(*map(untrusted.text, _read(source))),
            _shape(_read(shape)),
            Applied(),
            untrusted.number(number),
            None if made is None else unquote(untrusted.text(made)),
        ) if known else None  # fmt: skip
        progress = unquote(untrusted.text(applied))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        refused = BROKEN(state=names.state, table=names.table, drop=names.drop_all)
        raise refused from None  # the first error shows the row
    if found is None:
        raise UNREADABLE(state=names.state, table=names.table)
    return replace(found, applied=applied_text.parse(progress, names.table, names.drop_all))


class StateMemory:
    """States as our own commits left them; safe for many threads.

    It spares questions, and can't do harm: a move from a wrong number changes nothing.  What another session
    did is found after an error, a refused move, or when the trust is over.
    """

    def __init__(self, trust_s: float) -> None:
        self._trust_s, self._lock = trust_s, threading.Lock()
        self._states: dict[TableId, tuple[StagedState, float]] = {}

    def get(self, table: TableId) -> StagedState | None:
        """Return a state that is trusted."""
        with self._lock:
            state, since = self._states.get(table, (None, 0.0))
        return state if time.monotonic() - since < self._trust_s else None

    def put(self, table: TableId, state: StagedState) -> None:
        """Remember what was read or committed now."""
        with self._lock:
            self._states[table] = state, time.monotonic()

    def forget(self, table: TableId) -> None:
        """Trust nothing about a table."""
        with self._lock:
            self._states.pop(table, None)


def state_values(state: StagedState) -> dict[str, int | str | None]:
    """Return the row as values, in the order of COLUMNS."""
    return {
        "number": state.number,
        "version": VERSION,
        "source": _write(list(state.source)),
        "made": state.making,
        "shape": _write(_shape_texts(state.shape)),
        "applied": quote(applied_text.text(state.applied), safe=_SAFE),
    }


def _row(state: StagedState, dialect: StagedDialect) -> dict[str, str]:
    """Return it as expressions."""
    return {
        name: dialect.cast(str(value), Primitive.BIGINT)
        if isinstance(value, int)
        else dialect.cast("NULL" if value is None else dialect.literal(value), Primitive.TEXT)
        for name, value in state_values(state).items()
    }


def _write(value: object) -> str:
    return quote(json.dumps(value, separators=(",", ":")), safe=_SAFE)


def _read(text: object) -> Any:  # noqa: ANN401 - JSON is anything
    return json.loads(unquote(untrusted.text(text)))


def _shape_texts(shape: StagedShape) -> dict[str, object]:
    """Write it shortly, because a text of Redshift holds 65,535 bytes.

        "columns": [[1, 0, "id"], [2, 1, "Price", "price", "price__7"]]

    These are identity, place in the list of types, and names: at the source, for readers, in the table.  The
    last ones are left out where they are equal to the one before.
    """
    types = {of: at for at, of in enumerate(dict.fromkeys(one.type for one in shape.columns))}
    columns = [[one.column.identity, types[one.type], *_names(one)] for one in shape.columns]
    places = {"leaving": list(shape.leaving), "husks": list(shape.husks)}
    lists = {"types": list(map(type_to_json, types)), "columns": columns, "key": list(shape.key), **places}
    return {**lists, "ours": asdict(shape.ours), "mode": shape.mode.value, "shown": shape.shown}


def _names(one: StagedColumn) -> list[str]:
    names = [one.column.source, one.column.target, one.place]
    while len(names) > 1 and names[-1] == names[-2]:
        names.pop()
    return names


def _column(written: Any, types: Sequence[ColumnType]) -> StagedColumn:  # noqa: ANN401 - JSON is anything
    """Read a column, also as version 1 wrote it."""
    if isinstance(written, dict):
        identity, of = written["identity"], type_from_json(written["type"])
        source, target, place = (written[name] for name in ("source", "target", "place"))
    else:
        identity, at, source, *others = written
        of, last = types[untrusted.number(at)], [source, *others][-1]
        target, place = others if len(others) > 1 else (last, last)
    column = PlannedColumn(untrusted.number(identity), untrusted.text(source), untrusted.text(target), of)
    return StagedColumn(column, untrusted.text(place))


def _shape(texts: Mapping[str, Any]) -> StagedShape:
    types = [type_from_json(one) for one in texts.get("types", ())]
    return StagedShape(
        tuple(_column(one, types) for one in texts["columns"]),
        tuple(map(untrusted.number, texts["key"])),
        OurColumns(**{name: untrusted.text(column) for name, column in texts["ours"].items()}),
        TableMode(texts["mode"]),
        tuple(map(untrusted.text, texts["leaving"])),
        tuple(map(untrusted.text, texts["husks"])),
        texts["shown"] is True,
    )
