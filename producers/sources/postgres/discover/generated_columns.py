"""Which generated columns the log carries; the copy leaves out the others completely.

    pg_publication, its column list  ->  the numbers that are carried  ->  PgTableFacts without the others

The log, the chunks and the catalogue must show one shape, because a column that only some of them have would
come and go in the target and be read again at each start.  So a column that is left out has no name in the
facts, like a dropped column.  It keeps its number: when it becomes an ordinary column, its rows hold values
that no event contained.
"""

from collections.abc import Collection, Mapping
from typing import Final

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover.facts import PgTableFacts
from wrackline.producers.sources.postgres.rows.messages import Relation

SINCE: Final = 180_000  # before, no publication carries a generated column
_CARRIED = """
SELECT a.attrelid, a.attnum FROM pg_publication p CROSS JOIN pg_attribute a
LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = a.attrelid
WHERE p.pubname = %s AND a.attrelid = ANY (%s) AND a.attgenerated = 's'
  AND CASE WHEN r.prattrs IS NULL THEN p.pubgencols = 's' ELSE a.attnum = ANY (r.prattrs::int2[]) END"""


def without_uncarried(
    connection: Connection, publication: str, tables: Mapping[int, PgTableFacts]
) -> dict[int, PgTableFacts]:
    """Return the tables without the generated columns that this publication does not carry."""
    some = [oid for oid, facts in tables.items() if any(column.generated for column in facts.columns)]
    carried: set[tuple[object, object]] = set()
    if some and connection.info.server_version >= SINCE:
        carried = {(oid, number) for oid, number in connection.execute(_CARRIED, [publication, some])}
    found = dict(tables)
    for oid in some:
        found[oid] = _without(tables[oid], {number for of, number in carried if of == oid})
    return found


def with_logged_columns(relation: Relation, stored: PgTableFacts, carried: PgTableFacts) -> PgTableFacts:
    """Return what the log carries, with the generated columns that it carried when it named them."""
    named = {column.name for column in relation.columns}
    columns = tuple(
        then if then.name in named else now for then, now in zip(stored.columns, carried.columns, strict=True)
    )
    return carried._replace(columns=columns)


def _without(facts: PgTableFacts, carried: Collection[object]) -> PgTableFacts:
    columns = tuple(
        column._replace(name=None) if column.generated and column.number not in carried else column
        for column in facts.columns
    )
    return facts._replace(columns=columns)
