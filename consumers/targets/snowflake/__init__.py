"""Snowflake: a batch is one Parquet file or some, a PUT of each, one COPY, and one transaction with a MERGE.

config     what can be set
target     how it is opened
connect    the driver's connections, by a key pair
session    a conversation: statements, transactions, loads
service    its catalogue
types      what each kind of value is there
dialect    its SQL, as a value; how tables are made
limits     what it holds no value of, as data
refusals   what it refuses
check      findings of the preflight check
"""

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.snowflake import config
from wrackline.consumers.targets.snowflake.dialect import IDENTIFIERS
from wrackline.consumers.targets.warehouse.plugin import WarehousePlugin
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

__all__ = ["PLUGIN"]


class SnowflakePlugin(WarehousePlugin):
    """What this folder offers."""

    kind = "snowflake"
    settings = config.SETTINGS

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table."""
        view = read_layout(settings, IDENTIFIERS).place(table).view
        account, database = settings.text("target.account"), settings.text("target.dbname").upper()
        return Located(f"snowflake://{account}", f"{database}.{view.schema}.{view.name}")


PLUGIN = SnowflakePlugin()
