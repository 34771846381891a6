"""Where a table of the source is in the target: a view for readers, and the table behind it.

    db.public.orders  ->  public.orders              the view: rows that live and are complete
                          wrackline."public.orders"  the table: tombstones and our columns too

The plain name belongs to the readers: SELECT count(*) FROM orders must not count what is deleted.  The
table is in another schema, so that a right to read `public` shows them none of ours.  Pure.
"""

from dataclasses import dataclass

from psycopg import sql

from wrackline.consumers.contract.identifiers import Identifiers, target_name
from wrackline.schemas.tables.table import TableId

IDENTIFIERS = Identifiers(most_characters=63, most_bytes=63)
APPLIED = "_wl_applied"


@dataclass(frozen=True, slots=True)
class PgTargetPlace:
    """One table's names in the target."""

    schema: str  # of the view
    name: str
    storage_schema: str
    storage: str

    @property
    def view(self) -> sql.Identifier:
        """What readers select from."""
        return sql.Identifier(self.schema, self.name)

    @property
    def table(self) -> sql.Identifier:
        """What batches are merged into."""
        return sql.Identifier(self.storage_schema, self.storage)

    @property
    def key(self) -> str:
        """The name of the index of the rows' key, whichever columns it has."""
        return target_name(f"key of {self.storage}", IDENTIFIERS)


@dataclass(frozen=True, slots=True)
class PgTargetLayout:
    """How names are made: the settings' part of it."""

    schema: str  # a template
    storage_schema: str

    def place(self, table: TableId) -> PgTargetPlace:
        """Return a table's names; the same for the same table, always."""
        schema = target_name(self.schema.format(database=table.database, schema=table.schema), IDENTIFIERS)
        name = target_name(table.name, IDENTIFIERS)
        storage = target_name(f"{schema}.{table.name}", IDENTIFIERS)
        return PgTargetPlace(schema, name, self.storage_schema, storage)

    @property
    def applied(self) -> sql.Identifier:
        """Our own table: what is applied, and the shape of each table."""
        return sql.Identifier(self.storage_schema, APPLIED)
