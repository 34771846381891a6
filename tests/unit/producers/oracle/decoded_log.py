"""A decoder over pieces that a test writes: tables A and B of one owner, and a signal table."""

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.unit.producers.oracle.redo_model import mined
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Batch, Rows, Saved, Step
from wrackline.producers.sources.oracle.decode import OracleDecoder, OracleStreamScope
from wrackline.producers.sources.oracle.discover.facts import (
    OracleColumnFacts,
    OracleLook,
    OracleTableFacts,
    OracleType,
)
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.producers.sources.oracle.follow.table_tracker import OracleTableTracker
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.mined_row import COMMIT, DDL, INSERT, START, MinedRow
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at, position_of
from wrackline.producers.sources.oracle.resolver import OracleTableResolver
from wrackline.producers.sources.oracle.rows.source_record import CONNECTOR, FIELDS, OracleSourceLabels
from wrackline.producers.sources.oracle.transactions.transaction_buffer import TransactionBuffer
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId
from wrackline.testing.sources.schema_ids import SchemaIds

A, B, SIGNALS = (TableId("DB", "SHOP", name) for name in ("A", "B", "SIGNALS"))
NUMBERS = {A: 11, B: 12, SIGNALS: 13}
W, X, Y, Z = "0001000100000009", "0001000200000003", "0001000300000007", "0002000100000001"
BEGIN = OraclePosition(1, last_at(99), oldest=100, seen=99, incarnation=Incarnation(7, 8), done=last_at(99))


def facts(table: TableId, *more: str, number: int | None = None) -> OracleTableFacts:
    """A table with a key, a text, and more texts."""
    columns = [OracleColumnFacts("ID", 1, OracleType("NUMBER", None, 9, 0), nullable=False)]
    columns += [
        OracleColumnFacts(name, place, OracleType("VARCHAR2", 40), nullable=True)
        for place, name in enumerate(("T", *more), start=2)
    ]
    return OracleTableFacts(table, number or NUMBERS[table], tuple(columns), ("ID",), (), logs_all=True)


def signal_facts() -> OracleTableFacts:
    columns = [
        OracleColumnFacts(name, place, OracleType("VARCHAR2", 200), nullable=name == "DATA")
        for place, name in enumerate(("ID", "TYPE", "DATA"), start=1)
    ]
    return OracleTableFacts(SIGNALS, NUMBERS[SIGNALS], tuple(columns), ("ID",), (), logs_all=True)


def look(*tables: OracleTableFacts) -> OracleLook:
    """The catalogue with these tables, and the signal table."""
    every = (*tables, signal_facts())
    return OracleLook({one.object_id: one.id for one in every}, {one.object_id: one for one in every})


LOOK = look(facts(A), facts(B))


def begins(scn: int, xid: str = X, **fields: Any) -> MinedRow:
    return mined(scn, START, xid=xid, **fields)


def commits(scn: int, xid: str = X, **fields: Any) -> MinedRow:
    return mined(scn, COMMIT, xid=xid, timestamp=1_700_000_000_000_000 + scn, **fields)


def inserts(scn: int, number: int, text: str = "t", xid: str = X, of: TableId = A, **fields: Any) -> MinedRow:
    redo = f"""insert into "SHOP"."{of.name}"("ID","T") values ('{number}','{text}');"""
    return changes(scn, INSERT, redo, number, xid, of, **fields)


def changes(
    scn: int, operation: int, redo: str, number: int, xid: str = X, of: TableId = A, **fields: Any
) -> MinedRow:
    given = {
        "row_id": f"AAAS1AAEAAAB{number:06d}",
        "owner": of.schema,
        "table": of.name,
        "object_id": NUMBERS.get(of, 99),
        "redo": redo,
    }
    return mined(scn, operation, xid=xid, **{**given, **fields})


def ddl(scn: int, redo: str, xid: str = Z, of: TableId = A, **fields: Any) -> list[MinedRow]:
    """A transaction with a statement of the schema."""
    given = {"owner": of.schema, "table": of.name, "object_id": NUMBERS[of], **fields}
    return [begins(scn, xid), mined(scn, DDL, xid=xid, redo=redo, **given), commits(scn + 1, xid)]


class DecodedLog:
    """A decoder, and what it was given and gave out."""

    def __init__(
        self,
        folder: Path,
        saved: Saved | None = None,
        listed: Sequence[TableId] = (A, B),
        *,
        most_bytes: int = 1 << 20,
        aside: Collection[TableId] = (),
        unpublished: Collection[str] = (),
        counted: bool = False,
        captures: Collection[TableId] = (A, B),
    ) -> None:
        start = BEGIN if saved is None else position_of(json.loads(json.dumps(saved)))
        self._oldest = start.oldest
        self.notices: list[WracklineError] = []
        self.registry = SchemaIds(CONNECTOR, FIELDS)
        around = Surroundings(lambda: 0.0, lambda: 0, self.registry.register, tell=self.notices.append)

        def captured(table: TableId) -> bool:
            return table in captures and table not in aside

        tracker = OracleTableTracker(captured, listed)
        resolver = OracleTableResolver(
            OracleShapes(ColumnRules()), around, tracker.tables.captures, "DB", SIGNALS
        )
        self.decoder = OracleDecoder(
            start,
            OracleSourceLabels("1", "server", counted, b""),
            tracker,
            resolver,
            lambda threads: TransactionBuffer(threads, start, folder, 1 << 20),
            OracleStreamScope(lambda table: captured(table) or table == SIGNALS, most_bytes, unpublished),
        )
        self.batches: list[Batch] = []
        self._owners: frozenset[str] | None = None

    def feed(
        self,
        rows: Iterable[MinedRow],
        upto: int | None,
        catalogue: OracleLook = LOOK,
        threads: Iterable[int] = (1,),
        *,
        question: bool = False,
        owners: Collection[str] | None = None,
    ) -> list[Step]:
        """Give a piece, as far as it is mined; return the steps that it made.

        `owners`: whose rows it has; None: those of the look before.
        """
        given = [row for row in rows if row.scn >= self._oldest]
        shown = frozenset(facts.id.schema for facts in catalogue.tables.values())
        mined = (shown if self._owners is None else self._owners) if owners is None else frozenset(owners)
        self.decoder.feed(MinedPiece(given, 0, upto, catalogue, frozenset(threads), mined, question))
        self._owners = shown
        steps: list[Step] = []
        while True:
            while not self.decoder.full and self.decoder.advance():
                pass
            if (batch := self.decoder.take()) is None:
                return steps
            self.batches.append(batch)
            steps += batch.steps

    def events(self, steps: Iterable[Step]) -> list[tuple[str, object, str]]:
        """Return operation, new text (or the key's number), and seq of each change."""
        made = []
        for step in steps:
            if isinstance(step, Rows):
                for _, op, _, value, _ in step.rows:
                    decoded: Any = self.registry.decode(value)
                    image = decoded["after"] or decoded["before"]
                    made.append((op, image["T"], str(decoded["seq"])))
        return made
