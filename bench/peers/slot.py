"""A PostgreSQL slot whose backlog each contender reads from its start, through its own copy.

held(...)  ->  a slot that keeps all log from now on        copied(...)  ->  the same point, to use up
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from bench.address import Address

PUBLICATION = "bench"
LET_GO_LIMIT_S = 30.0
SLOTS = "select slot_name from pg_replication_slots where database = %s"
LET_GO = """
select pg_terminate_backend(active_pid) from pg_replication_slots
where slot_name = %s and active_pid is not null"""


def connect(at: Address) -> psycopg.Connection:
    """Open a session in UTC that commits each statement."""
    return psycopg.connect(
        host="127.0.0.1",
        port=at.port,
        user=at.user,
        password=at.password,
        dbname=at.database,
        options="-c TimeZone=UTC",
        autocommit=True,
    )


@contextmanager
def held(at: Address) -> Iterator[str]:
    """Make a slot; drop it at the end."""
    name = _name()
    with connect(at) as session:
        session.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
        try:
            yield name
        finally:
            _drop(session, name)


@contextmanager
def copied(at: Address, slot: str) -> Iterator[str]:
    """Copy a slot with its backlog; end the session that still uses the copy, and drop it, at the end."""
    name = _name()
    with connect(at) as session:
        session.execute("select pg_copy_logical_replication_slot(%s, %s)", [slot, name])
        try:
            yield name
        finally:
            _drop(session, name)


def drop_slots(at: Address, database: str) -> None:
    """Drop every slot of a database, as those that others have made."""
    with connect(at._replace(database="postgres")) as session:
        made = session.execute(SLOTS, [database]).fetchall()
        for (slot,) in made:
            _drop(session, slot)


def _drop(session: psycopg.Connection, slot: str) -> None:
    deadline = time.monotonic() + LET_GO_LIMIT_S
    while True:
        session.execute(LET_GO, [slot])
        try:
            session.execute("select pg_drop_replication_slot(%s)", [slot])
        except psycopg.errors.ObjectInUse:  # the session that used it needs a moment to end
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _name() -> str:
    return f"bench_{secrets.token_hex(4)}"
