"""The source's own statements and machines read the stand-in's change tables: the copy is the table.

Random transactions, a capture job that lags, capture instances that are made meanwhile, pages of a few rows,
and stops at any place.  Each image before must be the row as the copy has it, so a change that is lost,
doubled or out of order is found at the next change of its row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from tests.unit.sqlserver_standin.shop import outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.sqlserver_standin.wire.values import Cell
from wrackline.producers.sources.sqlserver.follow.capture_instances import (
    CapturedColumn,
    CatalogueInstance,
    columns_sql,
    instances_sql,
)
from wrackline.producers.sources.sqlserver.follow.handover import parts_behind, ranges
from wrackline.producers.sources.sqlserver.log import page_merger, page_sql
from wrackline.producers.sources.sqlserver.log.change_rows import (
    Change,
    ChangeRow,
    RowPlace,
    place_of,
    row_key,
)
from wrackline.producers.sources.sqlserver.log.lsn import ZERO
from wrackline.producers.sources.sqlserver.log.page_merger import LoggedCommit, PageMerger
from wrackline.producers.sources.sqlserver.log.page_sql import ChangeTable
from wrackline.producers.sources.sqlserver.log.position import WHOLE, SqlServerPosition
from wrackline.producers.sources.sqlserver.log.range_audit import REST_S, RangeAudit
from wrackline.producers.sources.sqlserver.rows.before_images import completed
from wrackline.schemas.errors import Definite

Row = tuple[Cell, ...]
NOTE, NOTE_ORDINAL = 2, 3  # of orders: nvarchar(max), which an image before lacks unless it changed
MOST_COMMITS = 5


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 3)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 4)


@dataclass
class Reader:
    """Reads as a stream does; an image is the number of a row here, for the merger does not look into it."""

    session: SqlSession
    random: Random
    position: SqlServerPosition = field(default_factory=lambda: SqlServerPosition(1, ZERO))
    images: list[Row] = field(default_factory=list)
    copies: dict[int, dict[Cell, Row]] = field(default_factory=dict)  # by table, by key
    changes: int = 0
    audit: RangeAudit = field(default_factory=lambda: RangeAudit("shop", 0))
    clock: float = 0

    def poll(self, stop: float = 0) -> None:
        """Read some commits; stop behind a change with this chance."""
        instances = list(catalogue(self.session))
        for place, change, tables in self._read(instances):
            if change is not None:
                self._apply(change, tables)
            self.position = place
            if change is not None and self.random.random() < stop:
                return

    def _read(
        self, instances: Sequence[CatalogueInstance]
    ) -> Iterator[tuple[SqlServerPosition, Change | None, dict[int, int]]]:
        at, inside = self.position, self.position.cut is not None
        asked = page_sql.commits_after("shop", at.lsn, MOST_COMMITS, with_it=inside)
        commits = [LoggedCommit(lsn, 0, transaction) for lsn, _, transaction in rows(self.session, asked)]  # type: ignore[arg-type]
        if not commits:
            return
        sources = {one.object_id: one.source for one in instances}
        parts = [
            part
            for source in set(sources.values())
            for part in parts_behind([one for one in instances if one.source == source], at.passed)
        ]
        asked_of = ranges(parts, at.behind, commits[-1].lsn)
        merger = PageMerger("shop", commits, asked_of, done=at.done if inside else 0)
        self.audit.begin(at, asked_of)
        while not merger.done:
            self._feed(merger, instances)
            for part in merger.take():
                self.audit.count(part)
                for number, change in enumerate(part.changes, part.first + 1):
                    yield SqlServerPosition(1, part.commit.lsn, number, place_of(change[2])), change, sources
                if part.complete:
                    yield SqlServerPosition(1, part.commit.lsn, WHOLE), None, sources
        self.audit.end(self.clock)

    def count(self) -> None:
        """Count the newest range that has rested, as the audit asks for it."""
        self.clock += REST_S
        names = {one.object_id: one.name for one in catalogue(self.session)}
        asked = self.audit.due(self.clock, names)
        found = [
            rows(self.session, page_sql.rows_of_range("shop", names[one.table], one.above, one.upto))[0][0]
            for one in asked
        ]
        self.audit.compare(asked, found, self.clock)  # type: ignore[arg-type]

    def _feed(self, merger: PageMerger, instances: Sequence[CatalogueInstance]) -> None:
        if not (wanted := merger.wanted()):
            return
        tables = [
            ChangeTable(one.object_id, one.name, [column.name for column in one.columns]) for one in instances
        ]
        found = [
            result.rows
            for result in outcomes(self.session, page_sql.poll("shop", wanted, tables, ZERO))
            if isinstance(result, QueryRows)
        ]
        for request, page in zip(wanted, found[:-2], strict=True):
            made = [self._row(request.table, cells) for cells in page]
            merger.feed(request.table, made, full=len(page) == request.most_rows)

    def _row(self, table: int, cells: Sequence[Cell]) -> ChangeRow:
        lsn, command, seqval, operation, mask, *image = cells
        self.images.append(tuple(image))
        place = RowPlace(command, seqval, table, operation)  # type: ignore[arg-type]
        return row_key(lsn, place), mask, b"%d" % (len(self.images) - 1)  # type: ignore[arg-type,return-value]

    def _apply(self, change: Change, sources: dict[int, int]) -> None:
        table, op, _, mask, before, after = change
        copy = self.copies.setdefault(sources[table], {})
        old, new = (None if image is None else self.images[int(image)] for image in (before, after))
        self.changes += 1
        if old is not None:
            if new is not None and len(old) > NOTE:
                old = tuple(completed(old, new, mask, [(NOTE, NOTE_ORDINAL)]))  # type: ignore[arg-type]
            assert copy.pop(old[0]) == old, "the image before is the row"
        if new is not None:
            assert new[0] not in copy
            copy[new[0]] = new
        assert (op == "u", op == "d") == (None not in (old, new), new is None)


def catalogue(one: SqlSession) -> Iterator[CatalogueInstance]:
    columns: dict[Cell, list[CapturedColumn]] = {}
    for table, name, number, ordinal, computed in rows(one, columns_sql("shop")):
        columns.setdefault(table, []).append(CapturedColumn(name, number, ordinal, bool(computed)))  # type: ignore[arg-type]
    for name, table, source, _, _, start, created, *_ in rows(one, instances_sql("shop")):
        yield CatalogueInstance(name, table, source, start, str(created), tuple(columns[table]))  # type: ignore[arg-type]


def statement(random: Random, present: dict[str, set[int]]) -> str:
    """Write one, whose keys fit what is there."""
    table = random.choice(sorted(present))
    keys, key, text = present[table], random.randint(1, 6), "x" * random.randint(1, 9)
    match random.choice("iiudks"):
        case "i" if key not in keys:
            keys.add(key)
            values = (
                f"{key}, {random.randint(1, 99)}.5, N'{text}'" if table == "orders" else f"{key}, N'{text}'"
            )
            return f"INSERT INTO dbo.{table} VALUES ({values});"
        case "u":
            return f"UPDATE dbo.{table} SET note = N'{text}' WHERE id = {key};"
        case "d":
            keys.discard(key)
            return f"DELETE FROM dbo.{table} WHERE id = {key};"
        case "k" if key in keys and key + 10 not in keys:
            keys ^= {key, key + 10}
            return f"UPDATE dbo.{table} SET id = id + 10 WHERE id = {key};"
        case _:
            return f"UPDATE dbo.orders SET amount = amount + 1 WHERE id <= {key};"


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(4, 12))]
)
def test_the_copy_is_the_table(seed: int) -> None:
    random = Random(seed)
    made = shop({"id": "int", "amount": "decimal(10,2)", "note": "nvarchar(max)"})
    server, database = made.server, made.database
    database.create_table("dbo.lines", {"id": "int", "note": "nvarchar(20)"}, ("id",))
    database.enable_table("dbo.lines")
    database.scan()
    writer = session(server)
    reader = Reader(session(server), random)
    present: dict[str, set[int]] = {"orders": set(), "lines": set()}
    for step in range(40):
        transaction = " ".join(statement(random, present) for _ in range(random.randint(1, 4)))
        outcomes(writer, f"BEGIN TRANSACTION; {transaction} COMMIT TRANSACTION;")
        if step == 20 and seed % 2:
            database.enable_table("dbo.orders", instance="orders_2")
        if random.random() < 0.5:
            database.scan(random.choice((None, 1, 2)))
        if random.random() < 0.2:
            server.advance(minutes=6)
            database.write_dummy()
        if random.random() < 0.5:
            reader.poll(stop=random.choice((0, 0.1)))
            reader.count()
    while database.scan():
        pass
    for _ in range(40):
        reader.poll()
    sources = {one.source: one.name for one in catalogue(writer)}
    for source, name in sources.items():
        table = "lines" if "lines" in name else "orders"
        assert reader.copies[source] == {row[0]: row for row in rows(writer, f"SELECT * FROM dbo.{table};")}
    assert reader.changes > 10


def test_a_commit_that_is_listed_before_its_rows_is_found_within_seconds() -> None:
    """The assumption that carries the source is broken on purpose."""
    made = shop({"id": "int", "note": "nvarchar(20)"})
    reader = Reader(session(made.server), Random(1))
    outcomes(reader.session, "INSERT INTO dbo.orders VALUES (1, N'a');")
    made.database.scan(late=[made.instance.name])
    reader.poll()
    assert reader.changes == 0, "nobody could see it"
    made.database.scan()
    with pytest.raises(Definite) as caught:
        reader.count()
    assert caught.value.code == "sqlserver.late_rows"
