"""Settings that several databases' sources declare alike, each in its own group; names are Debezium's."""

from types import MappingProxyType

from wrackline.schemas.setting import Importance, Need, Setting
from wrackline.schemas.setting_kinds import Kind, one_of
from wrackline.schemas.types import Kind as TypeKind

INSTANTS = MappingProxyType(  # by timestamptz.handling.mode
    {"string": TypeKind.ZONED_TIMESTAMP, "micros": TypeKind.INSTANT_MICROS}
)
ACTION_NEEDS = Need("heartbeat.action.query", "heartbeat.interval.ms")


def action_query(group: str) -> Setting:
    """Declare the query of the user's own that runs at each heartbeat."""
    return Setting(
        "heartbeat.action.query",
        Kind.STRING,
        "What to run in the database at each heartbeat.",
        None,
        Importance.LOW,
        group,
    )


def instants(group: str, what: str) -> Setting:
    """Declare what the database's points in time become; `what` is their type there."""
    return Setting(
        "timestamptz.handling.mode",
        Kind.STRING,
        f"What a {what} is: ISO text in UTC, or microseconds since 1970.",
        "string",
        Importance.LOW,
        group,
        validator=one_of(*INSTANTS),
        recommended=tuple(INSTANTS),
    )
