"""What the driver and the front do with a batch: few statements, one winner, readers keep their rights."""

import gc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isnan, nan
from typing import Any

import pytest
import redshift_connector
from redshift_connector.error import Error

from tests.integration.targets.postgres.world import end_backend
from tests.integration.targets.redshift.world import ROLE, RedshiftWorld
from wrackline.consumers.contract.target import Target, UpkeepRemoval
from wrackline.consumers.staged.service import StagedSession
from wrackline.consumers.targets.redshift.refusals import connection_error
from wrackline.consumers.targets.redshift.service import RedshiftService
from wrackline.consumers.targets.redshift.session import _MOST_STATEMENTS, RedshiftSession
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    TEXT,
    A,
    alter,
    change,
    labels,
    plan_for,
    put,
    seq,
)

pytestmark = pytest.mark.servers

VALUES = TableSchema(
    TableId("db", "public", "values"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("exact", 2, ColumnType(Kind.DECIMAL, "numeric(19,0)", 19, 0)),
        Column("weight", 3, ColumnType(Kind.FLOAT64, "float8")),
        Column("label", 4, TEXT),
        Column("picture", 5, ColumnType(Kind.BYTES, "bytea")),
        Column("day", 6, ColumnType(Kind.DATE, "date")),
        Column("clock", 7, ColumnType(Kind.TIME_MICROS, "time")),
        Column("at", 8, ColumnType(Kind.TIMESTAMP_MICROS, "timestamp")),
        Column("seen", 9, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")),
        Column("yes", 10, ColumnType(Kind.BOOLEAN, "boolean")),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
ROWS: tuple[dict[str, object], ...] = (
    {
        "exact": Decimal(9_999_999_999_999_999_999),
        "weight": 1 / 3,
        "label": "it's a \\ \t\n\r %s $1 é😀",
        "picture": b"\x00\xff\\",
        "day": date(1, 1, 1),
        "clock": time(23, 59, 59, 999_999),
        "at": datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001 - it has no zone
        "seen": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        "yes": False,
    },
    {
        "exact": Decimal(-1),
        "weight": nan,
        "label": "",
        "picture": b"",
        "day": date(9999, 12, 31),
        "clock": time(0, 0),
        "at": datetime(1, 1, 1, 0, 0, 0, 1),  # noqa: DTZ001 - as above
        "seen": datetime(2026, 2, 28, 12, 0, 0, 123_456, UTC),
        "yes": True,
    },
    dict.fromkeys((column.name for column in VALUES.columns[1:]), None),
)


def test_values_arrive_exactly(world: RedshiftWorld) -> None:
    changes = [
        Change((at,), seq(at + 1), "c", {"id": at, **row}, frozenset(), 1000) for at, row in enumerate(ROWS)
    ]
    put(world, plan_for(world, 1, table=VALUES), *changes)
    seen = sorted(world.seen(VALUES.id), key=lambda row: str(row["id"]))
    found = [{name: value for name, value in row.items() if name != "id"} for row in seen]
    assert isnan(found[1].pop("weight"))  # type: ignore[arg-type]
    assert found == [ROWS[0], {name: one for name, one in ROWS[1].items() if name != "weight"}, ROWS[2]]


def test_a_batch_is_a_load_and_one_transaction(world: RedshiftWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.trap.texts.clear()
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    words = [text.split()[0] for text in world.trap.texts]
    load = ["CREATE", "BEGIN", "COPY", "SELECT", "COMMIT", "COMMITTED"]
    assert words == [*load, "BEGIN", "LOCK", "UPDATE", "UPDATE", "INSERT", "COMMIT", "COMMITTED", "DROP"]
    assert labels(world) == {A: "y"}
    (copy,) = (text for text in world.trap.texts if text.startswith("COPY"))
    assert copy.endswith(f"IAM_ROLE '{ROLE.arn}' FORMAT AS PARQUET MANIFEST")
    assert "KEY" not in copy.upper().replace("KEYLESS", "")
    assert not world.files(), "files go"
    world.trap.texts.clear()
    put(world, plan_for(world, 2))
    assert world.trap.texts == [], "no news is no statement"


@pytest.mark.full
def test_one_of_two_consumers_wins(world: RedshiftWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    second: Target[Any, Any] = world.open()
    plan = replace(plan_for(world, 2), since=second.applied(TABLE.id))
    staged = second.stage(world.frame([change("u", A, 2, "second")], plan), plan)
    put(world, plan_for(world, 2), change("u", A, 2, "first"))
    with pytest.raises(Transient, match=r"staged\.moved"):
        second.apply(staged, plan)
    assert labels(world) == {A: "first"}
    second.close()


def test_a_change_of_shape_is_one_commit_and_readers_keep_their_rights(world: RedshiftWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql('CREATE ROLE "Reader" NOLOGIN')
    try:
        world.sql('GRANT SELECT ON public.orders TO "Reader" WITH GRANT OPTION')
        world.sql("GRANT SELECT ON public.orders TO PUBLIC")
        renamed = replace(COLUMNS[2], name="title")
        after = replace(TABLE, columns=(*COLUMNS[:2], renamed, Column("new", 6, TEXT)))
        alter(world, plan_for(world, 2, table=after), TABLE)
        assert world.seen(TABLE.id) == [{"shop": "a", "number": 1, "title": "x", "new": None}]
        rights = world.sql(
            "SELECT identity_name, privilege_type, admin_option FROM redshift.svv_relation_privileges"
            " WHERE relation_name = 'orders' ORDER BY identity_name"
        )
        assert [tuple(row.values()) for row in rights] == [
            ("Reader", "SELECT", True),
            ("public", "SELECT", False),
        ]
    finally:
        world.sql('DROP OWNED BY "Reader"')
        world.sql('DROP ROLE "Reader"')


def test_a_column_that_redshift_sorts_by_is_emptied(world: RedshiftWorld) -> None:
    """It refuses to drop such a column, and chooses by itself what a table is sorted by."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    place = world.layout.place(TABLE.id).table
    values = f"current_database(), '{place.schema}', '{place.name}', 'label', FALSE, 1"
    world.sql(f"INSERT INTO redshift.svv_redshift_columns SELECT {values}")
    alter(world, plan_for(world, 2, table=replace(TABLE, columns=COLUMNS[:2])), TABLE)
    assert world.sql(f'SELECT label FROM "{place.schema}"."{place.name}"') == [{"label": None}]
    assert [set(row) for row in world.seen(TABLE.id)] == [{column.name for column in COLUMNS[:2]}]


def test_a_lost_connection_is_tried_again(world: RedshiftWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    world.trap.ends_process = False
    for point, doing, kept in (
        ("before the update", "the merge of a batch", "x"),
        ("after the commit", "the end of a batch", "y"),
    ):
        again = replace(plan_for(world, 2), since=world.target.applied(TABLE.id))
        batch = world.target.stage(world.frame([change("u", A, 2, "y")], again), again)
        world.crash_next_apply(point)
        with pytest.raises(Transient, match=rf"redshift\.connection_lost.*{doing}"):
            world.target.apply(batch, again)
        assert labels(world) == {A: kept}
        assert world.target.applied(TABLE.id).offsets == (again.since if kept == "x" else again.upto).offsets


@pytest.mark.full
def test_a_stage_that_a_crash_left_goes_after_a_day(world: RedshiftWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    world.target.stage(world.frame([change("u", A, 2)], plan), plan)
    world.restart()
    assert world.target.upkeep(TABLE.id, forget_before_ms=0).removed[UpkeepRemoval.FILES] == 0
    world.sql("UPDATE redshift.clock SET made_days_ago = 2")
    assert world.target.upkeep(TABLE.id, forget_before_ms=0).removed[UpkeepRemoval.FILES] == 1


@pytest.mark.full
def test_a_session_forgets_its_texts(world: RedshiftWorld) -> None:
    session: StagedSession = RedshiftSession(world.connect, ROLE)
    first = session.rows("SELECT pg_backend_pid()")
    for _ in range(_MOST_STATEMENTS - 1):
        session.run("SELECT 1")
    assert session.rows("SELECT pg_backend_pid()") != first, "it has connected again"
    session.close()


REFUSED: tuple[tuple[str, type[Exception], str], ...] = (
    ("SELECT CAST('secret' AS INTEGER)", OperatorNeeded, "redshift.value_refused"),
    ("CREATE SCHEMA public", Transient, "redshift.there_already"),
    ("SELECT nothing", OperatorNeeded, "redshift.refused"),
)


@pytest.mark.full
@pytest.mark.parametrize(("text", "kind", "code"), REFUSED)
def test_a_refusal_shows_no_value(world: RedshiftWorld, text: str, kind: type[Exception], code: str) -> None:
    service = RedshiftService(world.connect, ROLE)
    session = service.session()
    error = refused(lambda: session.run(text), service)
    session.close()
    assert isinstance(error, kind)
    assert code in str(error)
    assert "secret" not in str(error)


@pytest.mark.full
def test_an_ended_session_is_a_lost_connection(world: RedshiftWorld) -> None:
    service = RedshiftService(world.connect, ROLE)
    session = service.session()
    ((pid,),) = session.rows("SELECT pg_backend_pid()")
    end_backend(world.dsn, int(pid))
    error = refused(lambda: session.run("SELECT 1"), service)
    session.close()
    assert "redshift.connection_lost" in str(error)


def refused(doing: Callable[[], object], service: RedshiftService) -> Exception:
    """Return what the service makes of the driver's error."""
    with pytest.raises(Exception) as found:  # noqa: PT011 - the driver raises many kinds
        doing()
    error = service.refusal(found.value, "a test", '"public"."orders"')
    assert error is not None, f"{type(found.value)} is not known"
    return error


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Exception ignored")  # the driver leaves the socket of a refused log-in
def test_a_closed_door_is_told_from_a_server_that_is_not_there(world: RedshiftWorld) -> None:
    told = {}
    for name, port, database in (("door", world.front.port, "nowhere"), ("none", 1, "db")):
        where: dict[str, Any] = {"host": "127.0.0.1", "port": port, "user": "postgres", "database": database}
        with pytest.raises(Error) as found:
            redshift_connector.connect(**where, password="", ssl=False)
        told[name] = connection_error(found.value, **where).code
    assert told == {"door": "redshift.login_refused", "none": "redshift.unreachable"}
    del found
    gc.collect()


def test_a_table_that_is_dropped_by_hand_beside_a_consumer_is_made_again(world: RedshiftWorld) -> None:
    """As the page says how to start over; the consumer still trusts what it remembers."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    late = plan_for(world, 2)
    world.sql("DROP TABLE wrackline.public__orders CASCADE")
    with pytest.raises(Transient, match=r"redshift\.gone"):
        put(world, late, change("u", A, 2, "y"))
    put(world, plan_for(world, 2), change("u", A, 2, "z"))
    assert labels(world) == {A: "z"}
