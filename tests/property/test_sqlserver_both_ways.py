"""A row has the same bytes whether a change table or a chunk gave it: its key, and its event up to `source`.

Every type, as it is, as text, hidden, and as a key, over the stand-in.  The window compares the keys' bytes;
a reader of a topic takes either event for the row.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from tests.integration.sqlserver_standin.every_type import VALUES
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.steps import Fault
from wrackline.producers.sources.sqlserver.log.lsn import lsn_text
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.reading import open_stream, read, row_changes

LONGEST = 30_000  # characters: SQL Server refuses more than 64 KiB in a captured column
NO_KEY = ("text", "ntext", "image", "xml", "json", "geography", "timestamp", "sql_variant")
ALL = r".*\.c[0-9]+"
WAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "as it is": {},
    "as text": {"column.as.text": ALL},
    "hashed": {"column.mask.hash.v2.SHA-256.with.salt.s": ALL},
    "hidden": {"column.mask.with.3.chars": ALL},
    "every other left out": {"column.exclude.list": r".*\.c[0-9]*[02468]"},
}


class Both:
    """A database whose tables are read by their change tables and by chunks."""

    def __init__(self, **settings: str) -> None:
        self.world = SqlServerWorld(1, MarkKind.SIGNAL, **{"table.include.list": r"public\.t.*", **settings})
        self.partition: SourcePartition = self.world.source.partitions()[0]
        self.database: ModelDatabase = self.world.database(self.partition)

    def create(self, name: str, columns: Mapping[str, str], key: str) -> None:
        """Make a table, and capture it."""
        self.database.create_table(f"public.{name}", dict(columns), (key,))
        self.database.enable_table(f"public.{name}")
        self.database.scan()

    def logged(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[bytes, bytes]:
        """Insert rows of tables, each in a transaction; return the events of all."""
        stream = open_stream(self.world, self.partition)
        for name, made in rows.items():
            for row in made:
                with self.database.transaction() as one:
                    one.insert(f"public.{name}", dict(row))
        while self.database.scan():
            pass
        steps = read(self.world, stream, lsn_text(self.database.job().mapping[-1].start_lsn))
        stream.close()
        assert [step.error for step in steps if isinstance(step, Fault)] == []
        changes = row_changes(steps)
        assert {change[1] for change in changes} == {"c"}
        found = {change[2]: change[3] for change in changes if change[2] is not None}
        assert len(found) == len(changes) == sum(map(len, rows.values()))
        return found

    def chunks(self, name: str, key: str) -> dict[bytes, bytes]:
        """Read a table in chunks; return the heads of its rows' events."""
        reader = self.world.source.reader(self.partition)
        table = TableId(self.partition.database, "public", name)
        chunk = reader.read(ChunkRequest(table, (key,), most_bytes=1 << 26))
        assert chunk.complete
        found = {row[0]: row[1] for part in chunk.slices for row in part.rows if row[0] is not None}
        reader.close()
        return found

    def after(self, value: bytes) -> dict[str, object]:
        """The row of an event."""
        row = self.world.value(value)["after"]
        assert isinstance(row, dict)
        return row


@pytest.fixture
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    """A database, read with the settings that the test is given."""
    made = Both(**getattr(request, "param", {}))
    yield made
    made.world.close()


def fitting(value: object) -> object:
    """Cut a text that no change table takes."""
    return value[:LONGEST] if isinstance(value, str) else value


@pytest.mark.parametrize(
    "both",
    [pytest.param(way, marks=[] if name == "as it is" else pytest.mark.full) for name, way in WAYS.items()],
    ids=WAYS.keys(),
    indirect=True,
)
def test_every_type_has_the_same_bytes_from_a_change_table_and_from_a_chunk(
    both: Both, request: pytest.FixtureRequest
) -> None:
    """T-W18."""
    columns = {f"c{number}": written for number, written in enumerate(VALUES)}
    both.create("t", {"id": "int", **{name: nullable(written) for name, written in columns.items()}}, "id")
    rows = [
        {
            "id": number,
            **{
                name: fitting(VALUES[written][number][0])
                for name, written in columns.items()
                if number < len(VALUES[written]) and written != "timestamp"
            },
        }
        for number in range(max(map(len, VALUES.values())) + 1)
    ]
    logged = both.logged({"t": rows})
    same(both, logged, both.chunks("t", "id"))
    first = both.after(next(iter(logged.values())))
    if "every other" not in request.node.name:
        assert first.keys() == {"id", *columns}
    assert [name for name, value in first.items() if value is None] == [], "a null proves nothing"


@pytest.mark.full
@pytest.mark.parametrize("both", [{"column.as.text": r".*_fine\.k"}], indirect=True)
def test_every_key_has_the_same_bytes_from_a_change_table_and_from_a_chunk(both: Both) -> None:
    tables = {
        f"t{number}{'_fine' if '(7)' in written else ''}": written  # of which two values could become one
        for number, written in enumerate(VALUES)
        if not written.startswith(NO_KEY) and "(max)" not in written
    }
    for name, written in tables.items():
        both.create(name, {"k": written, "v": "int null"}, "k")
    logged = both.logged(
        {name: [{"k": value, "v": 1} for value, _ in VALUES[written]] for name, written in tables.items()}
    )
    found: dict[bytes, bytes] = {}
    for name in tables:
        found |= both.chunks(name, "k")
    same(both, logged, found)


def nullable(written: str) -> str:
    """A column of a type; a row version is never null."""
    return written if written == "timestamp" else f"{written} null"


def same(both: Both, logged: Mapping[bytes, bytes], heads: Mapping[bytes, bytes]) -> None:
    """See that keys and the first parts of events are the same bytes."""
    assert heads.keys() == logged.keys()
    for key, head in heads.items():
        if not logged[key].startswith(head):
            rest = logged[key][len(head) :]
            assert both.after(head + rest) == both.after(logged[key])
            raise AssertionError("their bytes differ, and mean the same")
