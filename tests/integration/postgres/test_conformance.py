"""Every type of PostgreSQL: the same bytes from the log and from a chunk, and the value that was written."""

import contextlib
import math
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.every_kind import Value
from tests.fixtures.servers import Database, drop_slots
from tests.integration.postgres.conformance import Case, micros
from tests.integration.postgres.conformance_made import SETUP, STAND_INS, TABLE, UNKNOWN, stand_in
from tests.integration.postgres.conformance_page import page
from tests.integration.postgres.conformance_reading import Observed, Seen, Sheet, observe
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.infinity import FIRST_MICROS, LAST_MICROS
from wrackline.schemas.tables.types import Kind

PAGE = Path(__file__).parents[3] / "docs" / "conformance.md"
CASES = [case for cases in TABLE.values() for case in cases]
MAJORS = [
    pytest.param(0, id="default"),
    *(pytest.param(major, id=str(major), marks=pytest.mark.deep) for major in (16, 17, 18)),
]
MOST_OF_A_KEY = 400  # characters of a literal: an index takes 2,700 bytes a row
HOSTILE = {
    "datestyle": "SQL, DMY",
    "intervalstyle": "postgres_verbose",
    "timezone": "Asia/Kathmandu",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "lc_monetary": "C.UTF-8",  # a locale with other signs is not on every machine
    "search_path": "nowhere",
    "client_encoding": "LATIN1",
    "quote_all_identifiers": "on",
    "xmloption": "document",
    "array_nulls": "off",
}
AS_TEXT = {"column.as.text": r"public\.x_[0-9]+\.v"}


def sheets_of(major: int) -> dict[Sheet, Case]:
    """Lay the table out as tables: by number, by value, as text, and one for each value refused."""
    sheets: dict[Sheet, Case] = {}
    for number, case in enumerate(CASES):
        if case.since > major:
            continue
        literals = tuple(literal for literal, _ in case.values)
        sheets[Sheet(f"v_{number}", case.type, (*literals, None))] = case
        sheets[Sheet(f"x_{number}", case.type, (*literals, *case.unfit))] = case
        if case.key and literals:
            short = tuple(literal for literal in literals if len(literal) < MOST_OF_A_KEY)
            sheets[Sheet(f"k_{number}", case.type, short, by_value=True)] = case
        for i, literal in enumerate(case.unfit):
            sheets[Sheet(f"r_{number}_{i}", case.type, (literal,))] = case
    for number, name in enumerate(UNKNOWN, len(CASES)):
        sheets[Sheet(f"x_{number}", name, ("1",))] = Case(name, Kind.TEXT_OF, (("1", "1"),))
    return sheets


class World:
    """A database with every type in it and settings of its own, and what both ways gave for it."""

    def __init__(self, server: PostgresServer, settings: dict[str, str]) -> None:
        self._server = server
        self._name = f"t_{uuid.uuid4().hex[:12]}"
        dsn = server.database_dsn(self._name)
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))
        with psycopg.connect(dsn, autocommit=True) as made:
            for statement in [SETUP, *map(stand_in, [*STAND_INS, UNKNOWN[0]])]:
                made.execute(statement.encode())
            for name, value in settings.items():
                setting = sql.SQL("ALTER DATABASE {} SET {} TO {}")
                of = sql.SQL(value) if "," in value else sql.Literal(value)
                made.execute(setting.format(sql.Identifier(self._name), sql.Identifier(name), of))
        self.sheets = sheets_of(server.major)
        self._unknown = [Sheet(f"u_{name}", name, ("1",)) for name in UNKNOWN]
        self.observed: Observed = observe(dsn, [*self.sheets, *self._unknown], **AS_TEXT)

    def close(self) -> None:
        """Drop it."""
        with psycopg.connect(self._server.dsn, autocommit=True) as admin:
            drop_slots(admin, self._name)
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self._name)))

    def of(self, *letters: str) -> Iterator[tuple[Sheet, Case, Seen]]:
        """The sheets whose names begin so."""
        for sheet, case in self.sheets.items():
            if sheet.name[0] in letters:
                yield sheet, case, self.observed.sheets[sheet.name]

    def unknown(self) -> Iterator[tuple[Sheet, Seen]]:
        """The sheets of types that are not known."""
        for sheet in self._unknown:
            yield sheet, self.observed.sheets[sheet.name]


@pytest.fixture(scope="module", params=MAJORS)
def server(request: pytest.FixtureRequest, stack: Stack) -> PostgresServer:
    """A server of the major that --postgres names; deep, of each newer one."""
    return stack.postgres(request.param or request.config.getoption("--postgres"))


@pytest.fixture(scope="module")
def plain(server: PostgresServer) -> Iterator[World]:
    """Every sheet, read in both ways."""
    with contextlib.closing(World(server, {})) as made:
        yield made


@pytest.fixture(scope="module")
def hostile(server: PostgresServer) -> Iterator[World]:
    """The same where the database's settings are others."""
    with contextlib.closing(World(server, HOSTILE)) as made:
        yield made


@pytest.fixture(params=["plain", pytest.param("hostile", marks=pytest.mark.full)])
def world(request: pytest.FixtureRequest, server: PostgresServer) -> World:  # noqa: ARG001 - its parameters
    """Either of them."""
    made: World = request.getfixturevalue(request.param)
    return made


def test_the_log_and_a_chunk_give_the_same_bytes(world: World) -> None:
    """So an insert, both images of an update and a delete hold the very bytes of the chunk's row (T-W18)."""
    wrong = [
        (sheet.type, sheet.name) for sheet, _, seen in world.of("v", "k", "x") if not _agree(sheet, seen)
    ]
    assert not wrong


def _agree(sheet: Sheet, seen: Seen) -> bool:
    rows = len(sheet.literals)
    heads = dict(seen.chunk)
    if [op for _, op, *_ in seen.log] != ["c"] * rows + ["u"] * rows + ["d"] * rows or len(heads) != rows:
        return False
    for _, op, key, value, _ in seen.log:
        head = heads.get(key)
        if head is None:
            return False
        header, row = head[:5], head[6:]
        before = b"\0" if op == "c" or sheet.by_value else row
        if op == "d":
            expected = header if sheet.by_value else header + row + b"\0"
        else:
            expected = header + before + row
        if not value.startswith(expected):
            return False
    return True


def test_every_value_is_the_one_that_was_written(world: World) -> None:
    """By number and by value, in the row and in the key; what is expected stands in the table (T-T09)."""
    wrong = []
    for sheet, case, seen in world.of("v", "k"):
        expected = dict(enumerate([value for literal, value in case.values if literal in sheet.literals]))
        if None in sheet.literals:
            expected[len(expected)] = None
        inserted = [row for row in seen.log if row[1] == "c"]
        found = {}
        for _, _, key, value, _ in inserted:
            row = world.observed.schemas.numbers(value)["after"]
            found[row["n"]] = row["v"]
            name = "v" if sheet.by_value else "n"
            if key is None or not same(world.observed.schemas.numbers(key)[name], row[name]):
                wrong.append((sheet.type, "its key"))
        if expected.keys() != found.keys():
            wrong.append((sheet.type, f"{len(found)} rows of {len(expected)}"))
        wrong += [
            (sheet.type, f"{_short(found[n])} instead of {_short(value)}")
            for n, value in expected.items()
            if n in found and not same(value, found[n])
        ]
    assert not wrong


def test_every_column_has_the_kind_that_the_table_says(world: World) -> None:
    wrong = []
    for sheet, case, seen in world.of("v", "k", "x"):
        kind = None if seen.schema is None else seen.schema.columns[1].type.kind
        if kind is not (Kind.TEXT_OF if sheet.name.startswith("x") else case.kind):
            wrong.append((sheet.type, kind))
    assert not wrong


def test_a_value_that_its_type_cannot_hold_is_refused_by_both_and_not_shown(world: World) -> None:
    """T-T06."""
    wrong = []
    for sheet, _, seen in world.of("r"):
        wrong += [
            (sheet.type, sheet.literals[0], error)
            for error in (seen.fault, seen.refused)
            if not _refuses(error, f"public.{sheet.name}.v", str(sheet.literals[0]))
        ]
        assert not seen.log
        assert not seen.chunk
    assert not wrong


def _refuses(error: WracklineError | None, column: str, literal: str) -> bool:
    return (
        error is not None
        and error.code == "pg.value_unfit"
        and column in error.hint
        and "column.as.text = " in error.hint
        and literal not in str(error)
    )


def test_as_text_a_column_carries_what_the_server_writes(world: World) -> None:
    """Also what its type could not hold; compared with what a plain session asks the server for."""
    wrong = []
    for sheet, case, seen in world.of("x"):
        texts = [world.observed.schemas.numbers(row[3])["after"]["v"] for row in seen.log if row[1] == "c"]
        if texts != seen.texts:
            wrong.append(
                (sheet.type, [_short(text) for text in texts], [_short(text) for text in seen.texts])
            )
        if texts[len(case.values) :] != list(case.unfit):
            wrong.append((sheet.type, [_short(text) for text in texts], list(case.unfit)))
    assert not wrong


def test_a_type_that_is_not_known_is_refused_by_both_with_its_name(world: World) -> None:
    for sheet, seen in world.unknown():
        for error in (seen.fault, seen.refused):
            assert error is not None
            assert error.code == "pg.type_unknown"
            assert f"public.{sheet.type}" in error.sentence
            assert f"public.{sheet.name}.v" in error.hint
        assert not seen.log
        assert not seen.chunk


@pytest.mark.full
def test_other_settings_of_the_database_change_no_byte(plain: World, hostile: World) -> None:
    assert plain.sheets == hostile.sheets
    for sheet, _, seen in plain.of("v", "k", "x"):
        other = hostile.observed.sheets[sheet.name]
        assert [head[5:] for _, head in seen.chunk] == [head[5:] for _, head in other.chunk], sheet.type


def test_zoned_timestamps_are_numbers_when_asked_for(database: Database) -> None:
    """`timestamptz.handling.mode`, in columns and in arrays; what no number can say is refused."""
    lines: dict[Sheet, list[Value]] = {
        Sheet("v_0", "timestamptz", ("2026-01-31 03:00:00.5+05:30", "4714-11-24 00:00:00+00 BC")): [
            micros("2026-01-30 21:30:00.5"),
            micros("4714-11-24 00:00:00 BC"),
        ],
        Sheet("v_1", "timestamptz[]", ('{"2026-01-31 00:00:00+00",NULL}',)): [
            [micros("2026-01-31 00:00:00"), None]
        ],
        Sheet("v_2", "timestamptz", ("infinity", "-infinity")): [LAST_MICROS, FIRST_MICROS],
        Sheet("r_1", "timestamptz", ("294276-12-31 23:59:59+00",)): [],
    }
    observed = observe(database.dsn, list(lines), **{"timestamptz.handling.mode": "micros"})
    for sheet, values in lines.items():
        seen = observed.sheets[sheet.name]
        inserted = [row[3] for row in seen.log if row[1] == "c"]
        assert [observed.schemas.numbers(value)["after"]["v"] for value in inserted] == values
        if values:
            assert _agree(sheet, seen)
        else:
            assert seen.fault is not None
            assert seen.refused is not None


def test_the_page_is_what_the_table_prints() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it again: python -m tests.integration.postgres.conformance_page docs/conformance.md"
    )


def same(value: Value, found: object) -> bool:
    """Compare exactly: floats by their bits, decimals by their digits, types by name."""
    if isinstance(value, list):
        return isinstance(found, list) and len(value) == len(found) and all(map(same, value, found))
    if isinstance(value, float) and isinstance(found, float):
        both_nan = math.isnan(value) and math.isnan(found)
        return both_nan or struct.pack(">d", value) == struct.pack(">d", found)
    return type(value) is type(found) and value == found


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:60]}… ({len(text)})"
