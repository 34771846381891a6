"""The findings about the publication: that it is missing, or what it leaves out.

    publication as it is, tables that are copied  ->  findings

What a start refuses is reported here in the same words: the errors are those of publication_fit.py.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.postgres.check import check_rules as rules
from wrackline.producers.sources.postgres.check.check_tables import PgCheckedTable
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.follow import publication_fit
from wrackline.producers.sources.postgres.follow.publication_fit import PgPublication, PgPublishedTable
from wrackline.schemas.language.findings import Finding, fix
from wrackline.schemas.settings.filters import ColumnRules

_MAY_CREATE = """
SELECT has_database_privilege(current_database(), 'CREATE'), rolsuper FROM pg_roles
WHERE rolname = current_user"""


def missing_findings(
    connection: Connection, name: str, mode: str, chosen: Sequence[PgCheckedTable], before: str
) -> Iterator[Finding]:
    """Say what prevents us from making the publication, as a first start would; `before` is SQL."""
    [(may_create, superuser)] = connection.execute(_MAY_CREATE).fetchall()
    others = ", ".join(table.quoted for table in chosen if not table.owned)
    publication = identifier(name)
    if mode == "disabled":
        why = "read.only is set, or publication.autocreate.mode is disabled"
    elif mode == "all_tables" and not superuser:
        why = "only a superuser may create a publication of all tables"
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
        create=f"{before}CREATE PUBLICATION {publication} {which} WITH (publish_via_partition_root = true)",
    )


def left_out_findings(
    connection: Connection,
    name: str,
    found: PgPublication,
    chosen: Sequence[PgCheckedTable],
    catalogue: PgCatalogue,
    about: ColumnRules,
) -> Iterator[Finding]:
    """Name what the publication leaves out of each table."""
    has = publication_fit.published_tables(connection, name)
    for table in chosen:
        if table.id in has:
            yield from _of_table(table, name, has[table.id], catalogue, about)
        elif table.partitioned and not found.via_root:
            yield error_finding(publication_fit.leaves(name, table.id), table.id)
        else:
            change = f"ALTER PUBLICATION {identifier(name)} {{}} TABLE {table.quoted}"
            added = fix(
                publication_fit.PUBLICATION_LACKS.code,
                change.format("ADD"),
                "owner",
                undo=change.format("DROP"),
            )
            yield error_finding(publication_fit.lacks(name, [table.id]), table.id, fixes=(added,))


def skipped_findings(name: str, found: PgPublication, skipped: frozenset[str]) -> Iterator[Finding]:
    """Name the operations that the publication leaves out."""
    error = publication_fit.skips(found, name, skipped)
    if error is not None:
        every = f"ALTER PUBLICATION {identifier(name)} SET (publish = 'insert, update, delete, truncate')"
        yield error_finding(error, fixes=(fix(error.code, every, "owner", safe=False),))


def _of_table(
    table: PgCheckedTable, name: str, has: PgPublishedTable, catalogue: PgCatalogue, about: ColumnRules
) -> Iterator[Finding]:
    names = {"publication": identifier(name), "table_name": table.quoted}
    if has.row_filter is not None:
        yield rules.PUBLICATION_ROW_FILTER(table.id, **names)
    key = about.key(table.id) or catalogue.key(table.id)
    for error in publication_fit.columns_left_out(name, table.id, key, about, has):
        yield error_finding(error, table.id)
