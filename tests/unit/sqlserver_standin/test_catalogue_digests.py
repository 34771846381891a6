"""The digest of a catalogue differs whenever a poll would find another catalogue, and else does not."""

import datetime as dt
from collections.abc import Callable

import pytest

from tests.unit.sqlserver_standin.shop import Shop, rows, session
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.sources.sqlserver.log import page_sql


def made() -> Shop:
    """Make two captured tables with the same start."""
    server = ModelServer()
    server.create_login("sa", "secret", administrator=True)
    database = server.create_database("shop")
    server.create_database("other").enable_cdc()
    database.enable_cdc()
    for name in ("dbo.a", "dbo.b"):
        database.create_table(name, {"id": "int", "note": "nvarchar(10) null"}, ("id",))
        database.enable_table(name)
    database.scan()
    one = Shop(server, database, database.job().instances["dbo_a"])
    clean(one)
    return one


def digest(shop: Shop) -> tuple[object, ...]:
    sql = page_sql.catalogue_digests(["other", "shop"]).removeprefix("SET LOCK_TIMEOUT 0;\n")
    (other, found) = rows(session(shop.server), sql)
    assert other == (0, None, None, None)
    assert found[0] == 1
    return tuple(found[1:])


def exchange(shop: Shop) -> None:
    shop.database.rename_table("dbo.a", "aside")
    shop.database.rename_table("dbo.b", "a")
    shop.database.rename_table("dbo.aside", "b")


def clean(shop: Shop) -> None:
    """Raise the starts of both instances alike."""
    insert(shop)
    shop.server.advance(minutes=60)
    insert(shop)
    shop.database.clean_up(dt.timedelta(minutes=30))
    assert len({one.start_lsn for one in shop.database.job().instances.values()}) == 1


def insert(shop: Shop) -> None:
    with shop.database.transaction() as write:
        write.insert("dbo.a", {"id": shop.database.object_id(), "note": "x"})
    shop.database.scan()


def alter(shop: Shop) -> None:
    shop.database.alter_column("dbo.a", "note", "nvarchar(20) null")
    insert(shop)


def drop(shop: Shop) -> None:
    shop.database.drop_table("dbo.a")
    shop.database.scan()


def add_instance(shop: Shop) -> None:
    shop.database.enable_table("dbo.a", "a_2")


CHANGES: dict[str, tuple[Callable[[Shop], object], tuple[bool, bool, bool]]] = {
    "an instance comes": (add_instance, (True, False, False)),
    "an instance goes": (lambda one: one.database.disable_table("dbo_a"), (True, False, True)),
    "starts are raised": (clean, (True, False, False)),
    "a table is renamed": (lambda one: one.database.rename_table("dbo.a", "c"), (False, False, True)),
    "tables exchange their names": (exchange, (False, False, True)),
    "a column is altered": (alter, (False, True, False)),
    "a table is dropped": (drop, (True, True, True)),
    "rows come": (insert, (False, False, False)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_digest_differs_with_what_has_changed(name: str) -> None:
    one = made()
    before = digest(one)
    change, expected = CHANGES[name]
    change(one)
    after = digest(one)
    assert tuple(old != new for old, new in zip(before, after, strict=True)) == expected


def test_a_digest_differs_once_the_job_has_begun_with_an_instance() -> None:
    one = made()
    add_instance(one)
    before = digest(one)
    one.database.scan()
    assert digest(one)[0] != before[0]


@pytest.mark.parametrize("hint", ["READPAST", "READCOMMITTEDLOCK, READPAST"])
def test_a_database_that_reads_versions_skips_locked_rows_only_where_locks_are_taken(hint: str) -> None:
    one = made()
    sql = f"SELECT MAX(start_lsn) FROM shop.cdc.lsn_time_mapping WITH ({hint})"
    assert len(rows(session(one.server), sql)) == 1
    one.database.read_committed_snapshot = True
    if hint == "READPAST":
        with pytest.raises(ServerError, match="READPAST"):
            rows(session(one.server), sql)
    else:
        assert len(rows(session(one.server), sql)) == 1
    assert digest(one)[0] is not None
