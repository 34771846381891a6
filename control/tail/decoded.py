"""A record's bytes, made into values by the schemas that they were written with; or why they can't be.

In: records, and who knows the text of a schema's id.  Out: events, whose key and value are each a value or an
error.  A fault of one record is its own, so it is a value here; that the registry does not answer is raised.
No error holds anything of a row: what a library says of bytes may quote them, and is dropped.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, NamedTuple

import fastavro
import orjson

from wrackline.control.tail.bounded import bounded
from wrackline.control.tail.logical import Schema, under_our_names
from wrackline.schemas.errors import Definite, WracklineError, define

NOT_WIRE_FORMAT = define(
    "tail.not_wire_format",
    Definite,
    "its {part} does not begin with a schema id",
    hint="something else writes to the topic too; which bytes they are:"
    " kcat -C -t '{topic}' -p {partition} -o {offset} -c 1",
)
NO_AVRO = define(
    "tail.no_avro",
    Definite,
    "its {part} has schema id {id}, which is no Avro schema that can be read, or has no bound",
    hint="something else writes to the topic too; what the id stands for:"
    " curl <schema.registry.url>/schemas/ids/{id}",
)
NOT_ITS_SCHEMA = define(
    "tail.not_its_schema",
    Definite,
    "its {part} is not what schema id {id} says",
    hint="something else writes to the topic too; what the id stands for:"
    " curl <schema.registry.url>/schemas/ids/{id}",
)

_MAGIC: Final = b"\x00"
_HEAD: Final = 5  # the magic byte, and four of the id
_TABLE: Final = re.compile(r"[^.]+(?:\.[^.]+){3}")  # server.database.schema.table


class Record(NamedTuple):
    """What Kafka holds at one offset."""

    topic: str
    partition: int
    offset: int
    ms: int | None  # when it was written, if the topic says so
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A key or a value; without a schema it was JSON, a text, or nothing."""

    value: Any
    schema: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A record, with what its bytes say."""

    record: Record
    key: Part | WracklineError
    value: Part | WracklineError

    @property
    def error(self) -> WracklineError | None:
        """Why it can't be decoded: the value's reason, for that is what one came for."""
        return next((part for part in (self.value, self.key) if isinstance(part, WracklineError)), None)


class Decoder:
    """Decodes records; remembers schemas, and those that there are not."""

    def __init__(self, text: Callable[[int], str]) -> None:
        """Take who knows the text of an id: a Definite error says that nobody does."""
        self._text = text
        self._schemas: dict[int, Schema] = {}

    def event(self, record: Record) -> Event:
        """Decode a record, as far as it can be."""
        return Event(record, self._part(record, "key", record.key), self._part(record, "value", record.value))

    def _part(self, record: Record, part: str, data: bytes | None) -> Part | WracklineError:
        if data is None:
            return Part(None)
        if data[:1] == _MAGIC and len(data) >= _HEAD:
            return self._by_schema(part, int.from_bytes(data[1:_HEAD], "big"), data)
        plain = None if data[:1] == _MAGIC or _TABLE.fullmatch(record.topic) else _plain(data)
        place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        return plain or NOT_WIRE_FORMAT(part=part, **place)

    def _by_schema(self, part: str, number: int, data: bytes) -> Part | WracklineError:
        schema = self._schema(number)
        if isinstance(schema, Definite):
            return schema
        if schema is None:
            return NO_AVRO(part=part, id=number)
        body = BytesIO(data)
        body.seek(_HEAD)
        try:
            read = fastavro.schemaless_reader(body, schema, None)
        except Exception:  # noqa: BLE001 - strangers' bytes raise whatever they like
            return NOT_ITS_SCHEMA(part=part, id=number)
        return Part(read, number) if body.tell() == len(data) else NOT_ITS_SCHEMA(part=part, id=number)

    def _schema(self, number: int) -> Schema:
        """Have the schema of an id, which is asked for once; None: no Avro; an error: nobody knows it."""
        if number not in self._schemas:
            try:
                self._schemas[number] = _parsed(self._text(number))
            except Definite as error:
                self._schemas[number] = error
        return self._schemas[number]


def _parsed(text: str) -> Schema:
    try:
        read = orjson.loads(text)
        bounded(read)
        return fastavro.parse_schema(under_our_names(read))
    except Exception:  # noqa: BLE001 - a schema of strangers, or none at all
        return None


def _plain(data: bytes) -> Part | None:
    """Read what our own topics beside the rows hold: JSON, or a text."""
    try:
        return Part(orjson.loads(data))
    except orjson.JSONDecodeError:
        pass
    try:
        return Part(data.decode())
    except UnicodeDecodeError:
        return None
