"""Rows of a chosen width in a chosen number of tables of PostgreSQL, in transactions of a chosen size.

A row is a number and a text of hexadecimal digits, which hardly compresses.  Every change is an insertion;
the tables get them in turn.
"""

from collections.abc import Sequence
from typing import Final

import psycopg

_NUMBER: Final = 8  # bytes of a row beside its text
_DIGITS: Final = 32  # of one hash
_MADE_AT_ONCE: Final = 250  # tables made in one transaction: each holds locks
_BODY: Final = "select string_agg(md5(i || '/' || j), '') from generate_series(1, {hashes}) j"
_ALONE: Final = "insert into {table} (body) select ({body}) from generate_series({first}, {last}) i"
_IN_TURN: Final = """
do $$ begin for i in {first}..{last} loop
  execute format('insert into wide_%s (body) values ($1)', i % {tables}) using ({body});
end loop; end $$"""


def names(tables: int) -> list[str]:
    """Name the tables."""
    return [f"wide_{number}" for number in range(tables)]


def make(session: psycopg.Connection, tables: Sequence[str]) -> None:
    """Create the tables."""
    for first in range(0, len(tables), _MADE_AT_ONCE):
        with session.transaction():
            for name in tables[first : first + _MADE_AT_ONCE]:
                session.execute(
                    f"create table {name} (id bigserial primary key, body text not null)".encode()
                )


def write(session: psycopg.Connection, tables: Sequence[str], changes: int, width: int, in_one: int) -> None:
    """Insert so many rows of this many bytes, in transactions of so many rows."""
    body = _BODY.format(hashes=max(1, (width - _NUMBER) // _DIGITS))
    statement = _ALONE if len(tables) == 1 else _IN_TURN
    for first in range(0, changes, in_one):
        last = min(first + in_one, changes) - 1
        said = statement.format(table=tables[0], tables=len(tables), body=body, first=first, last=last)
        session.execute(said.encode())
