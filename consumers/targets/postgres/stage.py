"""A batch on its way: a temporary table of one connection, filled by COPY.

Temporary, so that no other session has it: two drivers never write into the same one, whatever ends the
connection ends the table, and nothing is left to clean up.  The price is that `apply` needs the same
connection, which `PgTargetStaged` holds.

Keys that differ as texts may be one key here (numeric 1.0 and 1.00, an interval of 30 days and a month).
Such rows get a turn each, in the order of their seqs, and are merged one turn after the other: so no row
of the table ever has two that match it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from psycopg import sql

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql.merge import STAGE, staged_names
from wrackline.consumers.targets.postgres.sql.types import column_type

_OURS = (
    ("seq", 'text COLLATE "C"'),
    ("op", "text"),
    ("commit_ts", "timestamp with time zone"),
    ("deleted", "boolean"),
    ("unsent", "text[]"),
    ("missing", "text[]"),
)


_LATE = ("known_at", 'text[] COLLATE "C"')


@dataclass(frozen=True, slots=True)
class PgTargetStaged:
    """A filled stage table, the connection that it lives in, and how many turns it takes."""

    connection: Connection
    turns: int


def fill(connection: Connection, blocks: Iterable[str], plan: MergePlan) -> PgTargetStaged:
    """Create the stage table and copy the lines into it."""
    names = staged_names(plan)
    columns = [
        sql.SQL("{} {}").format(names[column.target], sql.SQL(column_type(column.type)))
        for column in plan.columns
    ]
    ours = (*_OURS, _LATE) if plan.told_late else _OURS
    columns += [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(of)) for name, of in ours]
    connection.execute(
        sql.SQL("CREATE TEMP TABLE stage ({}, turn integer NOT NULL DEFAULT 1)").format(
            sql.SQL(", ").join(columns)
        )
    )
    copied = sql.SQL(", ").join([*names.values(), *(sql.Identifier(name) for name, _ in ours)])
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(STAGE, copied)) as copy,
    ):
        for block in blocks:
            copy.write(block)
    turns = max((turn for (turn,) in _turns(connection, plan)), default=1)
    connection.execute(sql.SQL("ANALYZE {}").format(STAGE))
    connection.commit()
    return PgTargetStaged(connection, turns)


def _turns(connection: Connection, plan: MergePlan) -> Iterator[tuple[int]]:
    """Give each further row of a key a later turn; yield those."""
    names = staged_names(plan)
    key = sql.SQL(", ").join(names[name] for name in plan.key)
    return connection.execute(
        sql.SQL(
            "UPDATE {stage} s SET turn = later.turn FROM (SELECT ctid AS at, row_number() OVER"
            " (PARTITION BY {key} ORDER BY seq, NOT deleted) AS turn FROM {stage}) later"
            " WHERE s.ctid = later.at AND later.turn > 1 RETURNING s.turn"
        ).format(stage=STAGE, key=key)
    )
