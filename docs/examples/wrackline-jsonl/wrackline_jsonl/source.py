"""The source's plug-in: what can be set, what is checked before a run, and where its parts begin."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Saved
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.findings import ColumnSupport, Finding, Severity, Support
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import SettingKind
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema
from wrackline_jsonl.events import CONNECTOR
from wrackline_jsonl.journal import Journal, Place
from wrackline_jsonl.reader import NO_TABLE, JournalReader, shape_of
from wrackline_jsonl.stream import JournalStream

PATH = Setting(
    "journal.path",
    SettingKind.STRING,
    "The journal: a file to which an application appends a line for each transaction.",
    importance=Importance.HIGH,
    group="Journal",
    required=True,
    file=True,
)


NO_RULES = define(
    "journal.no_column_rules",
    OperatorNeeded,
    "columns of a journal can't be masked, cut or left out",
    hint="take the column.* lines out of the file; leave whole tables out: table.exclude.list",
)


class JournalSource:
    """One journal, which is one database."""

    def __init__(self, settings: Values, around: Surroundings) -> None:
        """Look whether it is there; what can't be obeyed is refused, not ignored."""
        self._journal = Journal(Path(settings.text(PATH.name)))
        self._server, self._around = settings.text("topic.prefix"), around
        self._filter = TableFilter.of(settings)
        if ColumnRules.of(settings) != ColumnRules():
            refused = NO_RULES()
            raise refused
        self._journal.end()

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the one."""
        return (SourcePartition(self._server, self._journal.database),)

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """Return the tables that the journal has made so far and the filters capture."""
        del partition
        there = [shape.id for shape in self._journal.tables().shapes.values()]
        return [table for table in there if self._filter.captures(table)]

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        """Return a table's shape now."""
        del partition
        return shape_of(self._journal, table)

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> JournalStream:
        """Open the log; without a saved place from now on."""
        del partition, fresh
        start = Place(self._journal.end()) if saved is None else Place.parse(saved)
        not_now = frozenset(aside)
        return JournalStream(
            self._journal,
            start,
            lambda table: table not in not_now and self._filter.captures(table),
            frozenset(tables),
            self._server,
            self._around,
        )

    def reader(self, partition: SourcePartition) -> JournalReader:
        """Open a reader of rows."""
        del partition
        return JournalReader(self._journal, self._server, self._around)

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return which of these tables are not there."""
        there = self.tables(partition)
        return [_not_there(table) for table in tables if table not in there]

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say that every column is carried."""
        columns = self.describe(partition, table).columns
        return [ColumnSupport(table, one.name, one.type.source, Support.YES) for one in columns]

    def close(self) -> None:
        """Nothing is open."""


def _not_there(table: TableId) -> Finding:
    error = NO_TABLE(table=table)
    impact = "nothing of it is copied"
    return Finding(
        error.code, "table not found", error.sentence, error.hint, impact, Severity.ERROR, table=table
    )


class JournalPlugin:
    """What the entry point offers."""

    kind = "journal"
    contract = 1
    connector = CONNECTOR
    settings = Declared((PATH,))
    source_fields: Sequence[Mapping[str, object]] = ()
    position_bytes = 8

    def open(self, settings: Values, around: Surroundings) -> JournalSource:
        """Check that the file can be read."""
        return JournalSource(settings, around)


PLUGIN: Final = JournalPlugin()
