"""What this folder offers: a database as a source, or several of one server."""

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres import config
from wrackline.producers.sources.postgres.databases import PgDatabases
from wrackline.producers.sources.postgres.rows.source_record import CONNECTOR, FIELDS
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId


class PgPlugin:
    """PostgreSQL."""

    kind = "postgres"
    connector = CONNECTOR
    settings: Declared = config.SETTINGS
    source_fields = FIELDS
    position_bytes = 8  # an LSN

    def open(self, settings: Values, around: Surroundings) -> PgSource | PgDatabases:
        """Take the settings; the first query opens the first connection."""
        several = settings["database.names"] is not None
        return PgDatabases(settings, around) if several else PgSource(settings, around)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table is."""
        host, port = settings.text("database.hostname"), settings.integer("database.port")
        return Located(f"postgres://{host}:{port}", str(table))


PLUGIN = PgPlugin()
