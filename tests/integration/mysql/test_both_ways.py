"""A row has the same bytes whether the log or a chunk gave it: its key, and its event up to `source`.

Every type, as it is, as text, hidden, and as a key.  The window compares the keys' bytes; a reader of a topic
takes either event for the row.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from tests.integration.mysql.source_world import MySqlRegistry
from tests.integration.mysql.test_chunk_keys import KEYS, ONE_SERVER
from tests.integration.mysql.test_rows import BYTES, NUMBERS, OF_MARIADB, OF_MYSQL, TEXTS, TIMES, literal
from tests.integration.mysql.world import root, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Commit, Step
from wrackline.producers.sources.mysql.connect.connect import is_mariadb, query_dicts
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.tables.table import TableId
from wrackline.testing.sources.reading import read_batches, row_changes

pytestmark = pytest.mark.servers

Types = Mapping[str, Sequence[Any]]

GENERAL: Final[Mapping[str, Types]] = {"numbers": NUMBERS, "times": TIMES, "texts": TEXTS, "bytes": BYTES}
PLACES: Types = {
    "geometry": ["POINT(1 2)", "GEOMETRYCOLLECTION EMPTY"],
    "point": ["POINT(-1.5 0.1)"],
    "polygon": ["POLYGON((0 0, 0 1, 1 1, 0 0))"],
}
VECTORS: Types = {"vector(3)": ["[1, -0.5, 3e38]"], "vector": ["[0.1]"]}
MADE_BY = {**dict.fromkeys(PLACES, "ST_GeomFromText"), "vector": "STRING_TO_VECTOR"}
ZEROS: Types = {
    "date": ["0000-00-00", "2026-05-00", "2026-01-01"],
    "datetime(3)": ["0000-00-00", "2026-00-00 01:02:03.004", "2026-01-01"],
    "timestamp(6)": ["0000-00-00", "2026-01-01 00:00:00.000001"],
    "year": [0],
}
WAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "as it is": {},
    "as text": {"column.as.text": r".*\.c[0-9]+"},
    "hashed": {"column.mask.hash.v2.SHA-256.with.salt.s": r".*\.c[0-9]+"},
    "hidden": {"column.mask.with.3.chars": r".*\.c[0-9]+"},
    "every other left out": {"column.exclude.list": r".*\.c[0-9]*[02468]"},
}
MOMENTS = ("date", "datetime")  # among whose keys are days that no calendar has


class Both:
    """A database whose tables are read by the log and by chunks."""

    def __init__(self, server: MysqlServer, **settings: str) -> None:
        self.database = f"t_{uuid.uuid4().hex[:10]}"
        self.sql = root(server)
        self.mariadb = is_mariadb(self.sql)
        self.run(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4", f"USE {self.database}")
        self.run("SET time_zone = '+00:00', sql_mode = ''")
        self.registry = MySqlRegistry()
        clocks = time.monotonic, lambda: time.time_ns() // 1_000_000
        around = Surroundings(*clocks, self.registry.register, 1 << 26)
        listed = {"database.include.list": self.database}
        self.source = PLUGIN.open(settings_of(server, **listed, **settings), around)
        (self.partition,) = self.source.partitions()

    def run(self, *statements: str) -> None:
        """Run statements, each a transaction."""
        with self.sql.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def table(self, name: str) -> TableId:
        """One of its tables."""
        return TableId(self.database, self.database, name)

    def logged(self, *statements: str) -> dict[bytes, bytes]:
        """Run statements; return the events of all rows that they make."""
        tables = self.source.tables(self.partition)
        stream = self.source.stream(self.partition, tables, None)
        self.run(*statements)

        def enough(steps: Sequence[Step]) -> bool:
            return len([step for step in steps if isinstance(step, Commit)]) == len(statements)

        batches = read_batches(self, stream, enough)  # type: ignore[arg-type] # its clock is all that is asked
        stream.close()
        changes = row_changes(step for batch in batches for step in batch.steps)
        assert {change[1] for change in changes} == {"c"}
        found = {change[2]: change[3] for change in changes if change[2] is not None}
        assert len(found) == len(changes)
        return found

    def read(self, table: TableId, key: tuple[str, ...]) -> dict[bytes, bytes]:
        """Read a table in chunks; return the heads of all rows' events."""
        reader = self.source.reader(self.partition)
        request = ChunkRequest(table, key, most_bytes=1 << 26)
        chunk = reader.read(request)
        assert chunk.complete
        found = {row[0]: row[1] for part in chunk.slices for row in part.rows if row[0] is not None}
        reader.close()
        return found

    def after(self, value: bytes) -> object:
        """The row of an event."""
        return self.registry.decode(value)["after"]

    def now(self) -> float:
        """The clock of a test that waits for the log."""
        return time.monotonic()

    def close(self) -> None:
        """Drop it."""
        self.source.close()
        self.run(f"DROP DATABASE {self.database}")
        self.sql.close()


@pytest.fixture
def both(server: MysqlServer, request: pytest.FixtureRequest) -> Iterator[Both]:
    """A database, read with the settings that the test is given."""
    made = Both(server, **getattr(request, "param", {}))
    yield made
    made.close()


def types_of(group: str, *, mariadb: bool) -> Types:
    """The types of a group, each with its values."""
    own: Types = OF_MARIADB if mariadb else {**OF_MYSQL, **VECTORS}
    return {**GENERAL, "own": own, "places": PLACES, "zeros": ZEROS}[group]


def written(type_: str, value: object) -> str:
    """A value as SQL."""
    made = MADE_BY.get(type_.partition("(")[0])
    return literal(value) if made is None else f"{made}({literal(value)})"


def inserts(types: Types) -> list[str]:
    """A row for each value, and one of nulls."""
    made = []
    for number in range(max(map(len, types.values())) + 1):
        cells = [
            written(type_, values[number]) if number < len(values) else "NULL"
            for type_, values in types.items()
        ]
        made.append(f"INSERT INTO t VALUES ({number}, {', '.join(cells)})")
    return made


@pytest.mark.parametrize("both", WAYS.values(), ids=WAYS.keys(), indirect=True)
@pytest.mark.parametrize("group", [*GENERAL, "own", "places"])
def test_every_type_has_the_same_bytes_from_the_log_and_from_a_chunk(both: Both, group: str) -> None:
    """T-W18."""
    _compared(both, types_of(group, mariadb=both.mariadb))


@pytest.mark.parametrize("both", [WAYS["as text"]], indirect=True)
def test_days_that_no_calendar_has_are_the_same_texts(both: Both) -> None:
    _compared(both, ZEROS)


@pytest.mark.parametrize("both", [{"column.truncate.to.2.chars": r".*\.c[0-9]+"}], indirect=True)
def test_texts_that_are_cut_are_cut_alike(both: Both) -> None:
    _compared(both, {kind: values for kind, values in TEXTS.items() if "char" in kind or "text" in kind})


@pytest.mark.parametrize("both", [{"timestamptz.handling.mode": "micros"}], indirect=True)
def test_instants_that_are_numbers_are_the_same(both: Both) -> None:
    _compared(both, TIMES)


@pytest.mark.parametrize("both", [{"column.as.text": r".*\.moments_[0-9]+\.k"}], indirect=True)
def test_every_key_has_the_same_bytes_from_the_log_and_from_a_chunk(both: Both) -> None:
    flavour = "mariadb" if both.mariadb else "mysql"
    kinds = {**KEYS, **{kind: values for kind, (only, values) in ONE_SERVER.items() if only == flavour}}
    names, statements = [], []
    for number, (kind, values) in enumerate(kinds.items()):
        names.append(f"{'moments' if kind.startswith(MOMENTS) else 'others'}_{number}")
        both.run(f"CREATE TABLE {names[-1]} (id int AUTO_INCREMENT UNIQUE, k {kind} PRIMARY KEY)")
        cells = [value if "char" not in kind else both.sql.escape(value) for value in values]
        statements.append(
            f"INSERT IGNORE INTO {names[-1]} (k) VALUES {', '.join(f'({cell})' for cell in cells)}"
        )
    logged = both.logged(*statements)
    found: dict[bytes, bytes] = {}
    for name in names:
        rows = both.read(both.table(name), ("k",))
        assert len(rows) > 1, "the test's own values are refused"
        found |= rows
    _same(both, logged, found)


def test_generated_and_invisible_columns_are_the_same(both: Both) -> None:
    both.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int AS (id + 1) VIRTUAL, s varchar(9) AS (concat('s', id))"
        " STORED, n int DEFAULT 3 INVISIBLE, last int)"
    )
    logged = both.logged("INSERT INTO t (id, last) VALUES (1, 5)", "INSERT INTO t (id, n) VALUES (2, 4)")
    _same(both, logged, both.read(both.table("t"), ("id",)))
    assert [both.after(value) for value in logged.values()] == [
        {"id": 1, "v": 2, "s": "s1", "n": 3, "last": 5},
        {"id": 2, "v": 3, "s": "s2", "n": 4, "last": None},
    ]


def test_places_and_vectors_are_what_the_server_says_of_them(both: Both) -> None:
    """A place is its SRID, lowest byte first, and WKB; in MySQL a vector is its numbers."""
    both.run("CREATE TABLE t (id int PRIMARY KEY, g geometry, p point)")
    place = "ST_GeomFromText('{}', 3857)"
    shapes = [("LINESTRING(1 2, -3.5 4)", "POINT(0.1 -7)"), ("MULTIPOINT(5 6, 7 8)", "POINT(1 2)")]
    inserts = [
        f"INSERT INTO t VALUES ({number}, {place.format(one)}, {place.format(other)})"
        for number, (one, other) in enumerate(shapes)
    ]
    told = [both.after(value) for value in both.logged(*inserts).values()]
    shown = query_dicts(
        both.sql, "SELECT id, ST_AsBinary(g) AS g, ST_AsBinary(p) AS p, ST_SRID(g) AS s FROM t ORDER BY id"
    )
    assert {row["s"] for row in shown} == {3857}
    srid = (3857).to_bytes(4, "little")
    assert told == [{"id": row["id"], "g": srid + row["g"], "p": srid + row["p"]} for row in shown]
    if not both.mariadb:
        both.run("CREATE TABLE v (id int PRIMARY KEY, e vector(4))")
        numbers = [1.0, -0.5, 3e38, 0.0]
        logged = both.logged(f"INSERT INTO v VALUES (1, STRING_TO_VECTOR('{numbers}'))")
        [row] = [both.after(value) for value in logged.values()]
        assert row == {"id": 1, "e": pytest.approx(numbers)}


def _compared(both: Both, types: Types) -> None:
    columns = ", ".join(f"c{number} {type_} null" for number, type_ in enumerate(types))
    both.run(f"CREATE TABLE t (id int PRIMARY KEY, {columns})")
    logged = both.logged(*inserts(types))
    assert len(logged) == max(map(len, types.values())) + 1
    _same(both, logged, both.read(both.table("t"), ("id",)))


def _same(both: Both, logged: Mapping[bytes, bytes], heads: Mapping[bytes, bytes]) -> None:
    assert heads.keys() == logged.keys()
    for key, head in heads.items():
        if not logged[key].startswith(head):
            end = logged[key][len(head) :]
            assert both.after(head + end) == both.after(logged[key])
            raise AssertionError("their bytes differ, and mean the same")
