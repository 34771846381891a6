"""What only a service can show: values come through its load, statements are counted, one move wins."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf
from pathlib import Path

import pytest

from tests.fakes.snowflake_world import SnowflakeWorld
from tests.fixtures.starting_over import starts_over
from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.snowflake.connect import SnowflakeAccount
from wrackline.consumers.targets.snowflake.dialect import DIALECT
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.redaction import Secret
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.keyless_suite import KeylessPromises
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.modes_suite import AppendPromises
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    A,
    B,
    CommitPromises,
    LetterPromises,
    MergePromises,
    ShapePromises,
    change,
    labels,
    partial,
    plan_for,
    put,
    seq,
)

MOMENTS = [
    datetime(1, 1, 1, tzinfo=UTC).replace(tzinfo=None),
    datetime(2255, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC).replace(tzinfo=None),  # EMULATORS.md: sf-null-time
    datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC).replace(tzinfo=None),
]
KINDS: dict[str, tuple[ColumnType, list[object]]] = {
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), [True, False]),
    "large": (ColumnType(Kind.INT64, "bigint"), [-(2**63), 2**63 - 1]),
    "unsigned": (ColumnType(Kind.UINT64, "bigint unsigned"), [Decimal(0), Decimal(2**64 - 1)]),
    "float": (ColumnType(Kind.FLOAT64, "float8"), [-0.0, inf, -inf, 5e-324, 1.7976931348623157e308]),
    "exact": (ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2), [Decimal("-9999999999.99"), Decimal("0.01")]),
    "big": (ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10), [Decimal("-" + "9" * 28 + "." + "9" * 10)]),
    "long": (ColumnType(Kind.NUMERIC_TEXT, "numeric"), ["1.00", "NaN", "9" * 200]),
    "text": (ColumnType(Kind.STRING, "text"), ["", "'\"\\\n\t%,3,`", "é😀", "NULL"]),
    "bytes": (ColumnType(Kind.BYTES, "bytea"), [b"", bytes(range(256))]),
    "day": (ColumnType(Kind.DATE, "date"), [date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)]),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), [time(0), time(23, 59, 59, 999_999)]),
    "moment": (ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), list(MOMENTS)),
    "instant": (
        ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
        [datetime(2, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)],
    ),
    "span": (ColumnType(Kind.DURATION_MICROS, "time"), [-(2**62), 0]),
}


TIMES = ("moment", "instant")  # read as text; EMULATORS.md: sf-null-time


@pytest.mark.full
class TestShortly:
    """One promise of each kind."""

    test_late = MergePromises.test_an_older_change_never_wins
    test_partial = MergePromises.test_a_partial_update_keeps_what_is_stored
    test_truncate = MergePromises.test_a_truncate_is_a_floor
    test_refused = CommitPromises.test_a_batch_is_refused_where_another_consumer_went_further
    test_letters = LetterPromises.test_letters_are_kept_as_they_are
    test_renamed = ShapePromises.test_a_renamed_column_keeps_its_values
    test_exact = KeylessPromises.test_contents_are_compared_exactly
    test_events = AppendPromises.test_an_event_that_did_not_send_all_is_shown


def plain(name: str, value: object) -> object:
    """What the driver has its own form for."""
    match value:
        case str() if name in TIMES:
            return datetime.fromisoformat(value).replace(tzinfo=UTC if name == "instant" else None)
        case bytearray():
            return bytes(value)
        case int() if name == "unsigned":
            return Decimal(value)
    return value


def test_values_of_each_kind_come_through_a_load_and_a_merge(world: SnowflakeWorld) -> None:
    columns = (
        COLUMNS[1],
        *(Column(name, at, of) for at, (name, (of, _)) in enumerate(KINDS.items(), start=10)),
    )
    table = TableSchema(TableId("db", "public", "kinds"), columns, ("number",), KeyKind.PRIMARY)
    longest = max(len(values) for _, values in KINDS.values())
    rows = [
        {
            "number": at,
            **{name: values[at] if at < len(values) else None for name, (_, values) in KINDS.items()},
        }
        for at in range(longest + 1)
    ]
    shown_columns = ", ".join(
        f"CAST({name} AS VARCHAR) AS {name}" if name in TIMES else f'"{name.upper()}"'
        for name in ("number", *KINDS)
    )
    for number, shift in ((1, 1), (2, 0)):  # first the neighbour's values, then its own
        shown = [{**rows[at - shift], "number": at} for at in range(len(rows))]
        changes = [Change((one["number"],), seq(number), "u", one) for one in shown]
        put(world, plan_for(world, number, table=table), *changes)
        view = DIALECT.path(world.layout.place(table.id).view)
        found = world.sql(f"SELECT {shown_columns} FROM {view} ORDER BY number")
        pairs = [
            (name, plain(name, row[name]), one[name])
            for row, one in zip(found, shown, strict=True)
            for name in one
        ]
        assert [pair for pair in pairs if repr(pair[1]) != repr(pair[2])] == []


@pytest.mark.full
def test_a_batch_asks_no_catalogue(world: SnowflakeWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.watch.texts.clear()
    put(world, plan_for(world, 2), partial("u", A, 2, "y"))
    words = [text.split()[0] for text in world.watch.texts]
    assert words == ["CREATE", "PUT", "COPY", "BEGIN", "UPDATE", "MERGE", "COMMIT", "DROP"]
    assert [text for text in world.watch.texts if "TEMPORARY" in text] == [], "a session makes one"
    world.watch.texts.clear()
    put(world, plan_for(world, 2))
    assert world.watch.texts == [], "no news is no statement"
    assert labels(world) == {A: "y"}


@pytest.mark.full
def test_of_two_moves_from_one_number_one_is_kept(world: SnowflakeWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    place = world.layout.place(TABLE.id)
    session = world.service.session()
    state, table = DIALECT.path(place.state), DIALECT.path(place.table)
    ((number,),) = session.rows(f"SELECT number FROM {state}")
    move = StateMove(state, number, {"number": str(number + 1)}, "TRUE")
    assert session.commit(move, [], "one")
    assert not session.commit(move, [f"DELETE FROM {table}"], "two")
    session.close()
    assert labels(world) == {A: "x"}, "nothing of what moved from an old number is there"
    with pytest.raises(Transient, match=r"staged\.moved"):
        put(world, plan_for(world, 2), change("u", A, 2, "y"))
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert labels(world) == {A: "y"}


@pytest.mark.full
def test_a_table_of_the_longest_name_is_found_again(world: SnowflakeWorld) -> None:
    long = replace(TABLE, id=TABLE.id._replace(name="n" * 300))
    put(world, plan_for(world, 1, table=long), change("c", A, 1, "x"))
    world.restart()
    put(world, plan_for(world, 2, table=long), change("c", B, 2, "y"))
    assert len(world.seen(long.id)) == 2


@pytest.mark.full
def test_what_is_there_and_is_not_ours_stays(world: SnowflakeWorld) -> None:
    view = world.layout.place(TABLE.id).view
    world.sql(f"CREATE SCHEMA {DIALECT.quoted(view.schema)}")
    world.sql(f"CREATE TABLE {DIALECT.path(view)} (label VARCHAR)")
    with pytest.raises(OperatorNeeded, match=r"staged\.name_taken"):
        world.target.ensure_table(plan_for(world, 1))
    (taken,) = (one for one in world.target.check([TABLE.id]) if one.id == "snowflake.not_our_place")
    world.sql(taken.suggestion.partition(";")[0])
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert "snowflake.not_our_place" not in [one.id for one in world.target.check([TABLE.id])]


@pytest.mark.full
def test_a_stage_that_a_crash_left_is_old_at_last(world: SnowflakeWorld) -> None:
    """The emulator says 1970 for each table, so every stage is older than a day.  EMULATORS.md: sf-made."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.target.stage(world.frame([change("u", A, 2)], plan_for(world, 2)), plan_for(world, 2))
    world.restart()
    session = world.service.session()
    (left,) = world.service.old_tables(session, world.layout.stages)
    assert left.startswith("_WL_STAGE__")
    world.target.upkeep(TABLE.id, forget_before_ms=0)
    assert world.service.old_tables(session, world.layout.stages) == []
    assert world.service.old_tables(session, StagedRelation("NO_SUCH_SCHEMA", "X")) == []
    session.close()


def test_a_wrong_passphrase_is_said_before_anything_is_sent(account: SnowflakeAccount) -> None:
    with pytest.raises(OperatorNeeded, match=r"snowflake\.key_refused") as found:
        replace(account, passphrase=Secret("another")).connect()
    assert "another" not in str(found.value)


@pytest.mark.full
def test_a_host_that_does_not_answer_is_tried_again(account: SnowflakeAccount, tmp_path: Path) -> None:
    del tmp_path
    nowhere = replace(account, fields={**account.fields, "port": 1, "login_timeout": 1})
    with pytest.raises(Transient, match=r"snowflake\.unreachable"):
        nowhere.connect()


@pytest.mark.full
def test_what_a_hint_says_to_run_starts_a_table_over(world: SnowflakeWorld) -> None:
    state = DIALECT.path(world.layout.place(TABLE.id).state)
    starts_over(world, world.sql, f"UPDATE {state} SET shape = 'x'")
