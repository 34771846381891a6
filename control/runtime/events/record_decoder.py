"""Decodes a record's bytes by the schemas that they were written with; or says why it can't.

In: records, and a function that returns the text of a schema's id.  Out: events, whose key and value are each
a value or an error.  A fault of one record is a value here, because it concerns only that record; a registry
that does not answer is raised.  No error contains values of a row: a library's text may quote them, and is
dropped.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, NamedTuple

import fastavro
import orjson

from wrackline.control.runtime.events.logical_types import Schema, under_our_names
from wrackline.control.runtime.events.schema_bounds import check_bounds
from wrackline.schemas.errors import Definite, WracklineError, define

NOT_WIRE_FORMAT = define(
    "tail.not_wire_format",
    Definite,
    "its {part} does not begin with a schema id",
    hint="something else writes to the topic too; which bytes they are:"
    " kcat -b <brokers> -C -t '{topic}' -p {partition} -o {offset} -c 1",
)
NO_AVRO = define(
    "tail.no_avro",
    Definite,
    "its {part} has schema id {id}, which is not an Avro schema that can be read, or allows values"
    " of any size",
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


class TopicRecord(NamedTuple):
    """What Kafka holds at one offset."""

    topic: str
    partition: int
    offset: int
    ms: int | None  # when it was written, if the topic says so
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """A key or a value; without a schema it was JSON, a text, or nothing."""

    value: Any
    schema: int | None = None


@dataclass(frozen=True, slots=True)
class DecodedEvent:
    """A record, with its decoded bytes."""

    record: TopicRecord
    key: DecodedPart | WracklineError
    value: DecodedPart | WracklineError

    @property
    def error(self) -> WracklineError | None:
        """Why it can't be decoded: the value's reason first, because users look for the value."""
        return next((part for part in (self.value, self.key) if isinstance(part, WracklineError)), None)


class RecordDecoder:
    """Decodes records; remembers schemas, and ids without a schema."""

    def __init__(self, text: Callable[[int], str]) -> None:
        """Take what returns the text of an id; its Definite error says that there is none."""
        self._text = text
        self._schemas: dict[int, Schema] = {}

    def event(self, record: TopicRecord) -> DecodedEvent:
        """Decode a record, as far as possible."""
        return DecodedEvent(
            record, self._part(record, "key", record.key), self._part(record, "value", record.value)
        )

    def _part(self, record: TopicRecord, part: str, data: bytes | None) -> DecodedPart | WracklineError:
        if data is None:
            return DecodedPart(None)
        if data[:1] == _MAGIC and len(data) >= _HEAD:
            return self._by_schema(part, int.from_bytes(data[1:_HEAD], "big"), data)
        plain = None if data[:1] == _MAGIC or _TABLE.fullmatch(record.topic) else _read_plain(data)
        place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        return plain or NOT_WIRE_FORMAT(part=part, **place)

    def _by_schema(self, part: str, number: int, data: bytes) -> DecodedPart | WracklineError:
        schema = self._schema(number)
        if isinstance(schema, Definite):
            return schema
        if schema is None:
            return NO_AVRO(part=part, id=number)
        body = BytesIO(data)
        body.seek(_HEAD)
        try:
            read = fastavro.schemaless_reader(body, schema, None)
        except Exception:  # noqa: BLE001 - foreign bytes may raise any error
            return NOT_ITS_SCHEMA(part=part, id=number)
        return DecodedPart(read, number) if body.tell() == len(data) else NOT_ITS_SCHEMA(part=part, id=number)

    def _schema(self, number: int) -> Schema:
        """Return the schema of an id, asked for once; None: not Avro; an error: the id is unknown."""
        if number not in self._schemas:
            try:
                self._schemas[number] = _parse_schema(self._text(number))
            except Definite as error:
                self._schemas[number] = error
        return self._schemas[number]


def _parse_schema(text: str) -> Schema:
    try:
        read = orjson.loads(text)
        check_bounds(read)
        return fastavro.parse_schema(under_our_names(read))
    except Exception:  # noqa: BLE001 - a foreign schema, or not a schema
        return None


def _read_plain(data: bytes) -> DecodedPart | None:
    """Read what our own other topics contain: JSON, or a text."""
    try:
        return DecodedPart(orjson.loads(data))
    except orjson.JSONDecodeError:
        pass
    try:
        return DecodedPart(data.decode())
    except UnicodeDecodeError:
        return None
