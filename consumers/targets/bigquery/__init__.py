"""BigQuery: a batch is one Parquet file or some, a load of each, and one script, which is a transaction.

config      what can be set
target      how it is opened
connect     Google's client, and whose credentials it has
types       names and types, and how they are made of primitives
dialect     quotes, and the script
limits      what BigQuery allows, as data
partitions  by what a table is cut and sorted
session     a conversation by Google's own client; jobs with ids that repeat
service     its catalogue, layout and refusals, for a staged target
refusals    what an error of the service means
check       rights, places, and what a merge costs
"""

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.bigquery import config
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.consumers.targets.warehouse.plugin import WarehousePlugin
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

__all__ = ["PLUGIN"]


class BigQueryPlugin(WarehousePlugin):
    """What this folder offers."""

    kind = "bigquery"
    settings = config.SETTINGS

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table, as OpenLineage names it."""
        view = read_layout(settings, RELATIONS).place(table).view
        return Located("bigquery", f"{settings.text('target.project')}.{view.schema}.{view.name}")


PLUGIN = BigQueryPlugin()
