"""What settings mean in more than one room: names as the server has them, and how the log is mined.  Pure."""

from typing import Final

from wrackline.schemas.settings.settings_registry import Values

DISABLED: Final = "disabled"
VERIFY_CA: Final = "verify_ca"
VERIFY_IDENTITY: Final = "verify_identity"
VERIFIED: Final = (VERIFY_CA, VERIFY_IDENTITY)
"""Values of database.ssl.mode."""


def database_name(settings: Values) -> str:
    """Return the name of the database that is copied, as the catalogue writes it."""
    return container_name(settings) or folded(settings.text("database.dbname"))


def container_name(settings: Values) -> str | None:
    """Return the name of the pluggable database, if one is copied."""
    given = settings["database.pdb.name"]
    return folded(given) if isinstance(given, str) and given else None


def excluded_users(settings: Values) -> frozenset[str]:
    """Return the users whose transactions are not published.

    The log shows who it was with the start of a transaction.  In a range that begins behind it, rows show
    nobody.  So a transaction is left out as a whole, at its commit, and never row by row.
    """
    return frozenset(map(folded, settings.listed("log.mining.username.exclude.list")))


def archived_only(settings: Values) -> bool:
    """Whether only archived logs are mined: where nothing may be written, nothing says more is safe."""
    return settings.flag("log.mining.archive.log.only.mode") or settings.flag("read.only")


def poll_seconds(settings: Values) -> float:
    """Return how long to wait before the log is mined again."""
    if archived_only(settings):
        return settings.integer("log.mining.archive.log.only.scn.poll.interval.ms") / 1000
    return settings.integer("poll.interval.ms") / 1000


def folded(name: str) -> str:
    """Fold a name as the server does: what is in quotation marks stays as it is."""
    return name[1:-1] if name.startswith('"') else name.upper()
