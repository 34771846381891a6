"""Settings that several databases' sources declare alike, each in its own group; names are Debezium's."""

from types import MappingProxyType

from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, one_of
from wrackline.schemas.tables.types import Kind as TypeKind

INSTANTS = MappingProxyType(  # by timestamptz.handling.mode
    {"string": TypeKind.ZONED_TIMESTAMP, "micros": TypeKind.INSTANT_MICROS}
)
_NAMINGS = ("wrackline", "debezium", "wrackline_unicode", "debezium_unicode")
NAMING = Setting(
    "topic.naming",
    SettingKind.STRING,
    "How a table's topic is named after topic.prefix. wrackline: database.schema.table. debezium:"
    " schema.table, in MySQL and MariaDB database.table, for pipelines that move from Debezium. In both, each"
    " character that Kafka does not allow becomes _, and tables that would then share a topic are refused."
    " wrackline_unicode, debezium_unicode: the same, but such a character becomes _uxxxx, so that tables with"
    " different names have different topics; wrackline init sets it. Once a table is published, the name of"
    " its topic can't be changed.",
    "wrackline",
    Importance.LOW,
    "Pipeline",
    validator=one_of(*_NAMINGS),
    recommended=_NAMINGS,
)
ACTION_NEEDS = Requirement("heartbeat.action.query", "heartbeat.interval.ms")


def action_query(group: str) -> Setting:
    """Declare the query of the user's own that runs at each heartbeat."""
    return Setting(
        "heartbeat.action.query",
        SettingKind.STRING,
        "What to run in the database at each heartbeat.",
        None,
        Importance.LOW,
        group,
    )


def instants(group: str, what: str) -> Setting:
    """Declare what the database's points in time become; `what` is their type there."""
    return Setting(
        "timestamptz.handling.mode",
        SettingKind.STRING,
        f"How a {what} is published: as ISO text in UTC, or as microseconds since 1970.",
        "string",
        Importance.LOW,
        group,
        validator=one_of(*INSTANTS),
        recommended=tuple(INSTANTS),
    )
