"""What the settings say about marks: where they are written, as the server itself writes names.  Pure."""

from wrackline.producers.sources.mysql.server_facts import ServerFacts
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId


def signal_table(settings: Values, facts: ServerFacts) -> TableId | None:
    """Return the signal table: database and name with a dot between, as the server writes names."""
    if settings["signal.data.collection"] is None:
        return None
    named = settings.text("signal.data.collection")
    database, _, name = (named.lower() if facts.lower_names else named).rpartition(".")
    return TableId(database, database, name)
