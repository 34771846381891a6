"""The conversation with one database: transactions, reads, queries, statements that change its schema.

A read-write transaction that Spanner aborts is done again by the client itself, from its first read, until
its time is over.  Statements that change the schema are sent one after the other.

In: settings, which say which database, and whose credentials.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from google.cloud.spanner_v1 import KeySet, param_types
from google.cloud.spanner_v1.client import Client
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.transaction import Transaction

from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.targets.google_account import credentials
from wrackline.consumers.targets.spanner.refusals import spanner_error
from wrackline.consumers.targets.spanner.texts import MADE
from wrackline.schemas.settings.settings_registry import Values

T = TypeVar("T")

CALL_S: Final = 60.0
SCAN_S: Final = 1800.0  # a question that reads a whole table
SCHEMA_S: Final = 1800.0  # a change of schema may wait behind others, and fills nothing here
_SCOPES: Final = (
    "https://www.googleapis.com/auth/spanner.admin",
    "https://www.googleapis.com/auth/spanner.data",
)
_OTHER: Final = "other"
_MADE: Final = (
    "SELECT c.column_name FROM information_schema.tables AS t"  # noqa: S608 - made of a word of ours
    " LEFT JOIN information_schema.columns AS c ON c.table_schema = t.table_schema"
    f" AND c.table_name = t.table_name AND STARTS_WITH(c.column_name, '{MADE}')"
    " WHERE t.table_schema = @schema AND t.table_name = @name"
)
_VIEW: Final = (
    "SELECT v.table_name FROM information_schema.views AS v"
    " WHERE v.table_schema = @schema AND v.table_name = @name"
)
_INDEXES: Final = (
    "SELECT i.index_name FROM information_schema.indexes AS i WHERE i.table_schema = @schema"
    " AND i.table_name = @name AND i.index_type = 'INDEX' AND NOT i.spanner_is_managed"
)
_COLUMN: Final = (
    "SELECT c.column_name FROM information_schema.columns AS c"
    " WHERE c.table_schema = @schema AND c.table_name = @name"
)
_SCHEMAS: Final = "SELECT s.schema_name FROM information_schema.schemata AS s"


@dataclass(frozen=True, slots=True)
class SpannerSession:
    """One database; safe for many threads."""

    client: Client
    database: Database
    patience_s: float  # how long a transaction that was aborted is tried again
    _schema: threading.Lock = field(default_factory=threading.Lock)

    def together(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one read-write transaction; it may be done more than once."""
        done: T = self.database.run_in_transaction(work, timeout_secs=self.patience_s)
        return done

    def ask(self, text: str, *, within_s: float = CALL_S, **values: str) -> list[tuple[Any, ...]]:
        """Ask outside a transaction, where nothing is locked; values are texts."""
        with self.database.snapshot() as snapshot:
            return [tuple(row) for row in snapshot.execute_sql(text, timeout=within_s, **parameters(values))]

    def read(
        self, table: StagedRelation, columns: Sequence[str], keys: KeySet, limit: int = 0
    ) -> list[tuple[Any, ...]]:
        """Read rows by their keys outside a transaction."""
        with self.database.snapshot() as snapshot:
            return list(rows_of(snapshot, table, columns, keys, limit))

    def change(self, text: str, **values: str) -> int:
        """Change any number of rows, part by part; what is repeated has to change nothing more."""
        return int(self.database.execute_partitioned_dml(text, **parameters(values)))

    def reshape(self, texts: Iterable[str]) -> None:
        """Change the schema, statement by statement."""
        statements = list(texts)
        if statements:
            with self._schema:
                self.database.update_ddl(statements).result(timeout=SCHEMA_S)

    def make_schemas(self, names: Iterable[str]) -> None:
        """Make the schemas that are not there."""
        there = {str(row[0]).casefold() for row in self.ask(_SCHEMAS)}
        missing = [name for name in dict.fromkeys(names) if name.casefold() not in there]
        self.reshape(f"CREATE SCHEMA `{name}`" for name in missing)

    def made(self, relation: StagedRelation) -> str | None:
        """Return what distinguishes a table of ours from a later one of its name; None: it is not there."""
        found = self.ask(_MADE, schema=relation.schema, name=relation.name)
        return None if not found else str(found[0][0] or _OTHER)

    def is_view(self, relation: StagedRelation) -> bool:
        """Whether something is a view, and no table."""
        return bool(self.ask(_VIEW, schema=relation.schema, name=relation.name))

    def indexes(self, table: StagedRelation) -> list[StagedRelation]:
        """Return the indexes that somebody has made on a table; they are in its schema."""
        found = self.ask(_INDEXES, schema=table.schema, name=table.name)
        return [table._replace(name=str(name)) for (name,) in found]

    def granted(self, rights: Sequence[str]) -> frozenset[str]:
        """Return which of these rights in the database the account has."""
        answer = self.client.database_admin_api.test_iam_permissions(
            resource=self.database.name, permissions=rights, timeout=CALL_S
        )
        return frozenset(answer.permissions)

    def close(self) -> None:
        """End the connection; the client's own way to close waits for a thread that sleeps for minutes."""
        self.database.spanner_api.transport.close()

    def columns(self, relation: StagedRelation) -> frozenset[str]:
        """Return the names of a table's columns."""
        return frozenset(str(row[0]) for row in self.ask(_COLUMN, schema=relation.schema, name=relation.name))


def open_session(settings: Values) -> SpannerSession:
    """Open a session whose first question was answered, so that wrong settings are found at once."""
    instance, name = settings.text("target.instance"), settings.text("target.dbname")
    try:
        endpoint = settings.get("target.endpoint")
        at = None if endpoint is None else {"api_endpoint": str(endpoint).partition("//")[2]}
        client = Client(
            project=settings.text("target.project"),
            credentials=credentials(settings, _SCOPES),
            client_options=at,
            disable_builtin_metrics=True,
        )
        database = client.instance(instance).database(name)
        session = SpannerSession(client, database, settings.integer("target.lock.timeout.ms") / 1000)
        session.ask("SELECT 1")
    except Exception as exc:
        refusal = spanner_error(exc, doing="the first question", place=f"{instance}/{name}")
        if refusal is None:
            raise
        raise refusal from None  # the driver's own error may show what it was given
    return session


def is_ours(made: str | None) -> bool:
    """Whether a table was made by us."""
    return made is not None and made.startswith(MADE)


def rows_of(
    reader: Any,  # noqa: ANN401 - a transaction or a snapshot
    table: StagedRelation,
    columns: Sequence[str],
    keys: KeySet,
    limit: int = 0,
) -> Iterator[tuple[Any, ...]]:
    """Read rows by their keys."""
    found = reader.read(full_name(table), list(columns), keys, limit=limit, timeout=CALL_S)
    return (tuple(row) for row in found)


def full_name(relation: StagedRelation) -> str:
    """Name a table as reads and mutations do, without quotes."""
    return f"{relation.schema}.{relation.name}"


def parameters(values: Mapping[str, str]) -> dict[str, Any]:
    """Say which texts a statement's parameters are; `before` is a moment."""
    if not values:
        return {}
    types = {name: param_types.TIMESTAMP if name == "before" else param_types.STRING for name in values}
    return {"params": dict(values), "param_types": types}
