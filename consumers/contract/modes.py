"""How the tables of a pipeline are kept: `target.mode`, `target.deletes` and what a history watches.

    settings -> Keeping          what each batch is planned with
    Keeping, target -> refusal   of what the target can't do, and of a table that was made otherwise

The mode is written with a table when it is made, and the same table never takes another one: rows of one
mode mean nothing in the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Capabilities
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.filters import Listed
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import TableId

HISTORY_COLUMNS, HISTORY_EXCEPT = "target.history.columns", "target.history.except"

NO_SUCH_MODE = define(
    "target.no_such_mode",
    OperatorNeeded,
    'this target can\'t keep tables as target.mode = "{mode}"',
    hint="set target.mode to one of these: {modes}",
)
NO_SUCH_DELETES = define(
    "target.no_such_deletes",
    OperatorNeeded,
    'this target does not know target.deletes = "{deletes}"',
    hint="remove the line, or set target.deletes to one of these: {known}",
)
OTHER_MODE = define(
    "target.other_mode",
    OperatorNeeded,
    '{target} was made with target.mode = "{made}", and is to be merged with target.mode = "{wanted}"',
    hint='set it back: target.mode = "{made}"; or start over: {drop}; then: wrackline snapshot start'
    " <pipeline.toml> '{table}'; and start it again: wrackline consume <pipeline.toml>",
)
MADE_OTHERWISE = define(
    "target.made_otherwise",
    OperatorNeeded,
    "{target} was made with another target.column.prefix, or with a sequence_by of another type",
    hint="set it back; or read the table again into a new one: {drop};"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)
KEY_CHANGED = define(
    "target.history_key_changed",
    OperatorNeeded,
    "{table} has another key than before, and its history is kept by the old one",
    hint="rename its table in the target, to keep what it holds, or drop it; then have its rows read:"
    " wrackline snapshot start <pipeline.toml> '{table}'; and start it again: wrackline consume"
    " <pipeline.toml>",
)


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """How a pipeline keeps each of its tables."""

    mode: TableMode = TableMode.UPSERT
    deletes: Deletes = Deletes.SOFT
    watched: tuple[Listed, ...] = ()  # columns whose change begins a version; none: all
    unwatched: tuple[Listed, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "ModeSettings":
        """Read the settings."""
        return cls(
            TableMode(str(values["target.mode"])),
            Deletes(str(values["target.deletes"])),
            _column_list(values, HISTORY_COLUMNS),
            _column_list(values, HISTORY_EXCEPT),
        )

    def check(self, can: Capabilities) -> None:
        """Refuse what a target can't do."""
        if self.mode not in can.modes:
            raise NO_SUCH_MODE(mode=self.mode.value, modes=_words(can.modes))
        if self.deletes not in can.deletes:
            raise NO_SUCH_DELETES(deletes=self.deletes.value, known=_words(can.deletes))

    def watching(self, plan: MergePlan, held: Sequence[PlannedColumn] | None) -> MergePlan:
        """Name the columns of a history that begin versions, also those that the source has dropped."""
        if self.mode is not TableMode.HISTORY or not (self.watched or self.unwatched):
            return plan
        columns = (*(held or ()), *plan.columns)
        tracked = {one.target for one in columns if self._watches(plan.table.id, one.source)}
        return replace(plan, tracked=frozenset(tracked))

    def _watches(self, table: TableId, column: str) -> bool:
        if any(one.matches_column(table, column) for one in self.unwatched):
            return False
        return not self.watched or any(one.matches_column(table, column) for one in self.watched)


def check_key(table: TableId, before: Applied, void: str | None) -> None:
    """Refuse to void a history: `void` is the place behind the newest change under another key."""
    if before.newest is not None and void is not None and before.newest.seq < void:
        raise KEY_CHANGED(table=table)


def _column_list(values: Mapping[str, Value], setting: str) -> tuple[Listed, ...]:
    texts = values.get(setting)
    return tuple(Listed.of(setting, text) for text in texts) if isinstance(texts, tuple) else ()


def _words(of: frozenset[TableMode] | frozenset[Deletes]) -> str:
    return " or ".join(sorted(one.value for one in of))
