"""What this folder offers: the databases of a SQL Server as a source."""

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.sqlserver import config
from wrackline.producers.sources.sqlserver.log.position import SEQ_BYTES
from wrackline.producers.sources.sqlserver.rows.source_record import CONNECTOR, FIELDS
from wrackline.producers.sources.sqlserver.source import SqlServerSource
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId


class SqlServerPlugin:
    """SQL Server."""

    kind = "sqlserver"
    connector = CONNECTOR
    settings: Declared = config.SETTINGS
    source_fields = FIELDS
    position_bytes = SEQ_BYTES

    def open(self, settings: Values, around: Surroundings) -> SqlServerSource:
        """Take the settings; the first query opens the first connection."""
        return SqlServerSource(settings, around)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table is."""
        host, port = settings.text("database.hostname"), settings.integer("database.port")
        return Located(f"mssql://{host}:{port}", str(table))


PLUGIN = SqlServerPlugin()
