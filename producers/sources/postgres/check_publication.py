"""What of the publication stands in the way: that it is missing, or what it leaves out.

    publication as it is, tables that are copied  ->  findings

What a start refuses is said here in the same words: the errors are publication_fit.py's.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.sources.postgres import check_rules as rules
from wrackline.producers.sources.postgres import publication_fit
from wrackline.producers.sources.postgres.check_tables import Table
from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.discover import Catalogue
from wrackline.producers.sources.postgres.names import identifier
from wrackline.producers.sources.postgres.publication_fit import Carried, Publication
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.findings import Finding

_MAY_CREATE = """
SELECT has_database_privilege(current_database(), 'CREATE'), rolsuper FROM pg_roles
WHERE rolname = current_user"""


def missing(connection: Connection, name: str, mode: str, chosen: Sequence[Table]) -> Iterator[Finding]:
    """Say what keeps us from making the publication, as its first start would."""
    [(may_create, superuser)] = connection.execute(_MAY_CREATE).fetchall()
    others = ", ".join(table.quoted for table in chosen if not table.owned)
    publication = identifier(name)
    if mode == "disabled":
        why = "read.only is set, or publication.autocreate.mode is disabled"
    elif mode == "all_tables" and not superuser:
        why = "one of all tables is a superuser's to make"
    elif not may_create:
        why = f"it lacks CREATE on database {identifier(connection.info.dbname)}"
    elif mode == "filtered" and others:
        why = f"it does not own {others}"
    else:
        return
    named = ", ".join(table.quoted for table in chosen)
    which = "FOR ALL TABLES" if mode == "all_tables" else f"FOR TABLE {named}" if named else ""
    yield rules.PUBLICATION_FORBIDDEN(
        publication=publication,
        role=identifier(connection.info.user),
        why=why,
        create=f"CREATE PUBLICATION {publication} {which} WITH (publish_via_partition_root = true)",
    )


def leaves_out(
    connection: Connection,
    name: str,
    found: Publication,
    chosen: Sequence[Table],
    catalogue: Catalogue,
    about: ColumnRules,
) -> Iterator[Finding]:
    """Name what the publication does not carry of each table."""
    has = publication_fit.carried(connection, name)
    for table in chosen:
        if table.id in has:
            yield from _of_table(table, name, has[table.id], catalogue, about)
        elif table.partitioned and not found.via_root:
            yield rules.of_error(publication_fit.leaves(name, table.id), table.id)
        else:
            yield rules.of_error(publication_fit.lacks(name, [table.id]), table.id)


def skips(name: str, found: Publication, skipped: frozenset[str]) -> Iterator[Finding]:
    """Name the operations that it leaves out."""
    error = publication_fit.skips(found, name, skipped)
    if error is not None:
        yield rules.of_error(error)


def _of_table(
    table: Table, name: str, has: Carried, catalogue: Catalogue, about: ColumnRules
) -> Iterator[Finding]:
    names = {"publication": identifier(name), "table_name": table.quoted}
    if has.row_filter is not None:
        yield rules.PUBLICATION_ROW_FILTER(table.id, **names)
    key = about.key(table.id) or catalogue.key(table.id)
    for error in publication_fit.columns_left_out(name, table.id, key, about, has):
        yield rules.of_error(error, table.id)
