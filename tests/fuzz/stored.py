"""What is fuzzed of records that are read back, of statements, and of what others say.

Bytes in, a value or an error with a code out.  Where a reader says that other errors mean "nothing is known
of it", those are taken too.
"""

from contextlib import suppress
from typing import Any

import orjson

from wrackline.control.runtime.events.record_decoder import RecordDecoder, TopicRecord
from wrackline.control.runtime.group.config_records import GroupConfig
from wrackline.producers.sources.mysql.ddl.ddl_effects import effects
from wrackline.producers.sources.mysql.ddl.sql_tokens import SqlSpelling
from wrackline.producers.sources.mysql.events.gtids import MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.log import position as of_mysql
from wrackline.producers.sources.postgres.discover import ddl_messages
from wrackline.producers.sources.postgres.log import position as of_postgres
from wrackline.producers.sources.sqlserver.log import position as of_sqlserver
from wrackline.schemas.kafka import offsets_records

_PLACE = offsets_records.RecordPlace("t", 0, 7)
_SPELLINGS = (
    SqlSpelling(),
    SqlSpelling(mariadb=True),
    SqlSpelling(encoding="gbk"),
    SqlSpelling(mariadb=True, encoding="cp1252"),
)


def _parted(data: bytes) -> tuple[bytes, bytes]:
    """Two bytes of a length, so long a first part, a second one."""
    size = int.from_bytes(data[:2], "little")
    return data[2 : 2 + size], data[2 + size :]


def offsets_record(data: bytes) -> None:
    """A key and a value of an internal topic; what was read is written, and read as the same."""
    key, value = _parted(data)
    found = offsets_records.parse(_PLACE, key or None, value or None)
    if found.value is not None:
        again = offsets_records.parse(_PLACE, key, offsets_records.encode(found.value)).value
        if again != found.value:
            raise AssertionError("written differently")


def _document(data: bytes) -> dict[str, Any] | None:
    with suppress(orjson.JSONDecodeError):
        read = orjson.loads(data)
        return read if isinstance(read, dict) else None
    return None


def postgres_position(data: bytes) -> None:
    """A position as JSON."""
    read = _document(data)
    if read is not None:
        position = of_postgres.position_of(read, "s")
        again = of_postgres.position_of(position.saved(), "s")
        if (again, again.committed) != (position, position.committed):
            raise AssertionError("written differently")


def mysql_position(data: bytes) -> None:
    """A position as JSON."""
    read = _document(data)
    if read is not None:
        position = of_mysql.position_of(read)
        if of_mysql.position_of(position.saved()) != position:
            raise AssertionError("written differently")


def sqlserver_position(data: bytes) -> None:
    """A position as JSON; where the log continues behind it is a place too."""
    read = _document(data)
    if read is not None:
        position = of_sqlserver.position_of(read)
        if of_sqlserver.position_of(position.saved()) != position or not position.behind > position.passed:
            raise AssertionError("written differently")


def gtids(data: bytes) -> None:
    """A set as text, of either server, and as an event has it; ValueError: it is none."""
    for form in (MySqlGtids, MariaDbGtids):
        with suppress(ValueError):
            found = form.parse(data.decode("latin-1"))
            if form.parse(str(found)) != found:
                raise AssertionError("written differently")
    with suppress(ValueError):
        MySqlGtids.decoded(data)


def postgres_ddl(data: bytes) -> None:
    """A message of the event trigger."""
    _, said = ddl_messages.split_secret(data)
    ddl_messages.read_ddl(said, "d")


def mysql_ddl(data: bytes) -> None:
    """Which spelling, then a statement."""
    effects(data[1:], "d", _SPELLINGS[data[0] % len(_SPELLINGS)])


def tail(data: bytes) -> None:
    """A schema's text and a record's value."""
    schema, value = _parted(data)
    record = TopicRecord("a.b.c.d", 0, 0, 0, None, b"\0\0\0\0\1" + value)
    RecordDecoder(lambda _: schema.decode("utf-8", "replace")).event(record)


def group(data: bytes) -> None:
    """A key and a value of a group's topic."""
    key, value = _parted(data)
    with suppress(ValueError, KeyError, TypeError):
        kept = GroupConfig()
        kept.apply(key, value or None)
        _ = kept.connectors
