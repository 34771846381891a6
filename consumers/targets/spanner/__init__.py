"""Spanner: a batch is mutations in read-write transactions, each of which looks at the state and moves it.

config            what can be set
types             what each kind of value is there, and what a mutation carries of it
rows, chunks      which rows of a batch write what; how many a commit takes
versions          the same of a history
commits           one commit after the other, and what is kept about tables
texts             tables, views and questions, in SQL
session           the client's database: transactions, reads, changes of schema
target            the promises of the contract
letters, upkeep   dead letters; forgets old tombstones
refusals, check   what it refuses; findings of the preflight check
"""

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.spanner import config
from wrackline.consumers.targets.spanner.types import IDENTIFIERS
from wrackline.consumers.targets.warehouse.plugin import WarehousePlugin
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

__all__ = ["PLUGIN"]


class SpannerPlugin(WarehousePlugin):
    """What this folder offers."""

    kind = "spanner"
    settings = config.SETTINGS

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table, as OpenLineage names it."""
        project, instance = settings.text("target.project"), settings.text("target.instance")
        view = read_layout(settings, IDENTIFIERS).place(table).view
        name = f"{settings.text('target.dbname')}.{view.schema}.{view.name}"
        return Located(f"spanner://{project}:{instance}", name)


PLUGIN = SpannerPlugin()
