"""The names of topics, and the partition that a key belongs to.

Comes in: a server's name and its tables.  Goes out: one topic per table, `server.database.schema.table`,
or in Debezium's form `server.schema.table`, and a reason for each table that can have none.
Dots inside a name and characters that Kafka refuses become `_`, so two tables may need the same topic;
neither may write into the other's.  With a naming that escapes, each such character becomes `_uxxxx`, and no
two tables have the same name.  Kafka itself takes `a.b` and `a_b` for the same name, so names are compared as
it compares them.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.tables.table import TableId

NAME_MAX = 249

_PURPOSES = (
    "configs",
    "offsets",
    "status",
    "offset-history",
    "tasks",
    "requests",
    "wishes",
    "logs",
    "audit",
)
_REFUSED_BY_KAFKA = re.compile(r"[^a-zA-Z0-9._-]")
_REPLACED = re.compile(r"[^a-zA-Z0-9_-]")
_ESCAPED = re.compile(r"[^a-zA-Z0-9_-]|_(?=u[0-9a-f]{4})")  # the latter would read as an escape

SERVER_NAME = define(
    "topic.server_name",
    OperatorNeeded,
    "topic.prefix may contain only letters, digits, - and _; otherwise its topics' names would have more"
    " parts",
    hint='set topic.prefix = "{suggestion}"',
)
TOPIC_NAME = define(
    "topic.name",
    OperatorNeeded,
    "the topic name that {setting} makes is empty, longer than 249 characters or has characters that Kafka"
    " rejects",
    hint="set {setting} to letters, digits, '.', '-' and '_'",
)
TOO_LONG = define(
    "topic.too_long",
    OperatorNeeded,
    "table {table} would need a topic name of {length} characters; Kafka accepts 249",
    hint="shorten topic.prefix, or leave the table out: table.exclude.list = '{pattern}'",
)
COLLISION = define(
    "topic.collision",
    OperatorNeeded,
    "table {table} would write to topic {topic}, which is the topic of {other} or too similar to it",
    hint="{fix}rename one of them, or leave one out: table.exclude.list = '{pattern}'; then start the"
    " pipeline again, and read the other table: wrackline snapshot start <pipeline.toml> '<table>'",
)


class Naming(Enum):
    """How a table's topic is named, after the server; `topic.naming`."""

    WRACKLINE = "wrackline"  # database.schema.table: MySQL's database is its schema, too, and comes twice
    DEBEZIUM = "debezium"  # schema.table in PostgreSQL, database.table in MySQL and MariaDB
    WRACKLINE_UNICODE = "wrackline_unicode"  # the same parts, and each character that is refused is escaped
    DEBEZIUM_UNICODE = "debezium_unicode"

    @property
    def parts(self) -> int:
        """How many parts a topic's name has."""
        return 4 if self in (Naming.WRACKLINE, Naming.WRACKLINE_UNICODE) else 3

    @property
    def escaping(self) -> "Naming":
        """The naming with the same parts that escapes."""
        return Naming.WRACKLINE_UNICODE if self.parts == 4 else Naming.DEBEZIUM_UNICODE

    def form(self, server: str) -> str:
        """Show people how a table's topic is called."""
        table = "<database>.<schema>.<table>" if self.parts == 4 else "<schema or database>.<table>"
        return f"{server}.{table}"

    def part(self, name: str) -> str:
        """Write a database's, schema's or table's name as a part of a topic's."""
        return _ESCAPED.sub(_escape, name) if self is self.escaping else _sanitise(name)


@dataclass(frozen=True, slots=True)
class ControlTopics:
    """The topics beside the rows, named as Debezium names them."""

    schema_changes: str
    transaction: str
    message: str
    heartbeat: str
    signal: str
    letter: str


@dataclass(frozen=True, slots=True)
class InternalTopics:
    """A worker group's own topics; the first three are named as Kafka Connect names them."""

    configs: str
    offsets: str
    status: str
    offset_history: str
    tasks: str
    requests: str
    wishes: str
    logs: str
    audit: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """Each table's topic, or the reason why it has none."""

    topics: Mapping[TableId, str]
    refused: Mapping[TableId, WracklineError]


def check_server(server: str) -> str:
    """Return the server's name if topics can begin with it."""
    if not server or _REPLACED.search(server):
        raise SERVER_NAME(suggestion=_sanitise(server) or "<name>")
    return server


def is_of_table(server: str, topic: str, naming: Naming) -> bool:
    """Whether a topic is one of a server's tables'."""
    parts = topic.split(".")
    return parts[0] == server and len(parts) == naming.parts


def table_topic(server: str, table: TableId, naming: Naming) -> str:
    """The topic of one table, without a look at its neighbours or its length."""
    return ".".join((check_server(server), *map(naming.part, table[-(naming.parts - 1) :])))


def table_of(topic: str) -> TableId:
    """Return the table of a topic's name, in either form.

    Debezium's form lacks the database: the schema's name is used instead, which in MySQL is the same.
    """
    database, name = topic.split(".")[1], topic.rpartition(".")[2]
    return TableId(database, topic.split(".")[-2], name)


def control_topics(
    server: str,
    *,
    heartbeat_prefix: str = "__debezium-heartbeat",
    heartbeat_name: str = "",
    transaction: str = "transaction",
) -> ControlTopics:
    """The control topics; the arguments are the settings `topic.heartbeat.*` and `topic.transaction`."""
    check_server(server)
    return ControlTopics(
        schema_changes=_checked(server, "topic.prefix"),
        transaction=_checked(f"{server}.{transaction}", "topic.transaction"),
        message=_checked(f"{server}.message", "topic.prefix"),
        heartbeat=_checked(
            heartbeat_name or f"{heartbeat_prefix}.{server}",
            "topic.heartbeat.name" if heartbeat_name else "topic.heartbeat.prefix",
        ),
        signal=_checked(f"{server}-signal", "topic.prefix"),
        letter=_checked(f"{server}.letter", "topic.prefix"),
    )


def internal_topics(group: str) -> InternalTopics:
    """The internal topics of a worker group (`group.id`)."""
    return InternalTopics(*(_checked(f"{group}-{purpose}", "group.id") for purpose in _PURPOSES))


def assign(
    server: str,
    tables: Collection[TableId],
    *,
    taken: Mapping[TableId, str] = MappingProxyType({}),
    reserved: Collection[str] = (),
    naming: Naming,
) -> Assignment:
    """Give each table its topic.

    `taken` are the tables that already write to a topic: they keep it, so a table that appears later is the
    one that is refused.  If several new tables need the same topic, all are refused, because a choice would
    depend on their order and change with it.
    """
    owners: dict[str, str] = {_as_kafka_compares(topic): "the connector" for topic in reserved}
    owners |= {_as_kafka_compares(topic): str(table) for table, topic in taken.items()}
    topics: dict[TableId, str] = {}
    refused: dict[TableId, WracklineError] = {}
    wishes: defaultdict[str, list[TableId]] = defaultdict(list)
    for table in sorted(set(tables)):
        wished = table_topic(server, table, naming)
        if table in taken:
            topics[table] = taken[table]
        elif len(wished) > NAME_MAX:
            refused[table] = TOO_LONG(
                table=table, length=len(wished), pattern=exact_pattern(table.schema, table.name)
            )
        else:
            wishes[_as_kafka_compares(wished)].append(table)
    for compared, rivals in wishes.items():
        for table in rivals:
            topic = table_topic(server, table, naming)
            others = [str(rival) for rival in rivals if rival != table]
            if compared in owners:
                others.append(owners[compared])
            if others:
                refused[table] = COLLISION(
                    table=table,
                    topic=topic,
                    other=others[0],
                    fix=_separation(server, [table, *rivals], naming),
                    pattern=exact_pattern(table.schema, table.name),
                )
            else:
                topics[table] = topic
    return Assignment(MappingProxyType(topics), MappingProxyType(refused))


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that Java clients, and librdkafka with `murmur2_random`, choose for a key."""
    return (murmur2(key) & 0x7FFF_FFFF) % partitions


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 of a key, unsigned."""
    mix, mask = 0x5BD1E995, 0xFFFF_FFFF
    hashed = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * mix & mask
        word = (word ^ word >> 24) * mix & mask
        hashed = (hashed * mix & mask) ^ word
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * mix & mask
    hashed = (hashed ^ hashed >> 13) * mix & mask
    return hashed ^ hashed >> 15


def _sanitise(part: str) -> str:
    return _REPLACED.sub("_", part)


def _escape(found: re.Match[str]) -> str:
    """Write a character as Debezium's `avro_unicode` does: each of its UTF-16 units in four digits."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"_u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _separation(server: str, tables: Sequence[TableId], naming: Naming) -> str:
    """Return the setting that gives these tables topics of their own, if there is one."""
    wished = {_as_kafka_compares(table_topic(server, table, naming.escaping)) for table in tables}
    differ = len(wished) == len(set(tables)) and not any(len(topic) > NAME_MAX for topic in wished)
    return f'set topic.naming = "{naming.escaping.value}"; or ' if differ else ""


def _as_kafka_compares(topic: str) -> str:
    # its metric names have underscores for dots, so it refuses a second topic that would share one
    return topic.replace(".", "_")


def _checked(topic: str, setting: str) -> str:
    if topic in {"", ".", ".."} or len(topic) > NAME_MAX or _REFUSED_BY_KAFKA.search(topic):
        raise TOPIC_NAME(setting=setting)
    return topic
