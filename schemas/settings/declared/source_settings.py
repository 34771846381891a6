"""Settings that several databases' sources declare alike, each in its own group; names are Debezium's."""

from types import MappingProxyType

from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, one_of
from wrackline.schemas.tables.types import Kind as TypeKind

INSTANTS = MappingProxyType(  # by timestamptz.handling.mode
    {"string": TypeKind.ZONED_TIMESTAMP, "micros": TypeKind.INSTANT_MICROS}
)
NAMING = Setting(
    "topic.naming",
    SettingKind.STRING,
    "How a table's topic is named after topic.prefix. wrackline: database.schema.table. debezium:"
    " schema.table, in MySQL and MariaDB database.table, for pipelines that move from Debezium. It can't be"
    " changed once the pipeline has published.",
    "wrackline",
    Importance.LOW,
    "Pipeline",
    validator=one_of("wrackline", "debezium"),
    recommended=("wrackline", "debezium"),
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
