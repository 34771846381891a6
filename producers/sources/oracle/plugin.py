"""What this folder offers: one database of Oracle as a source."""

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.oracle import config
from wrackline.producers.sources.oracle.mining.position import SEQ_BYTES
from wrackline.producers.sources.oracle.rows.source_record import CONNECTOR, FIELDS
from wrackline.producers.sources.oracle.source import OracleSource
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId


class OraclePlugin:
    """Oracle."""

    kind = "oracle"
    connector = CONNECTOR
    settings: Declared = config.SETTINGS
    source_fields = FIELDS
    position_bytes = SEQ_BYTES

    def open(self, settings: Values, around: Surroundings) -> OracleSource:
        """Take the settings; the first query opens the first connection."""
        return OracleSource(settings, around)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table is."""
        host, port = settings.text("database.hostname"), settings.integer("database.port")
        return Located(f"oracle://{host}:{port}", str(table))


PLUGIN = OraclePlugin()
