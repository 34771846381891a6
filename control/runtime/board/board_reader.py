"""Reads the board of one pipeline as it is now, to its end: what a command knows of both halves.

In: a pipeline's settings.  Out: its board.  A record that can't be read is skipped: the next one of its key
replaces it.  So is one of another pipeline, and what is more than a board keeps.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.ground.pipeline_access import BYSTANDER, group_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.kafka.board_records import Board, BoardFull, parse_key
from wrackline.schemas.kafka.offsets_records import OUTSIDE_ANY_TRANSACTION
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.settings.settings_registry import Values


class BoardRecord(NamedTuple):
    """A record as it is stored."""

    key: bytes
    value: bytes | None
    at_ms: int


def board_slot(values: Values) -> OffsetsSlot:
    """Return where a pipeline's board is."""
    return OffsetsSlot(internal_topics(group_of(values.text("name"))).status, 0)


def read_board(values: Values) -> Board:
    """Read it; a pipeline that has never run has an empty one."""
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    return fold_records(read_records(values, AdminClient(client.admin())))


def fold_records(records: Iterable[BoardRecord]) -> Board:
    """Return what records add up to."""
    board = Board()
    for key, value, at_ms in records:
        with suppress(BoardFull):  # a worker that follows the board reports it
            board.apply(key, value, at_ms)
    return board


def read_records(values: Values, admin: AdminClient) -> Iterator[BoardRecord]:
    """Yield the records whose keys can be read, oldest first."""
    slot, name = board_slot(values), values.text("name")
    if not offsets_topic.slot_exists(admin, slot):
        return
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    reader = client.reader(Identity(group_of(name), name, BYSTANDER, OUTSIDE_ANY_TRANSACTION))
    for one in offsets_topic.read_records(admin, reader, slot, fenced=False):
        try:
            if parse_key(one.key or b"").pipeline != name:
                continue
            at_ms = min(one.ms, now_ms())  # the writer's clock may be ahead
            Board().apply(one.key or b"", one.value, at_ms)
        except (ValueError, KeyError, TypeError):
            continue
        yield BoardRecord(one.key or b"", one.value, at_ms)
