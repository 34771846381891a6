"""A read of PostgreSQL's log ends in time, however long its messages take to explain."""

from types import SimpleNamespace
from typing import Any

from wrackline.producers.kit.polled_stream import LONGEST_READ_S, ReadState
from wrackline.producers.sources.postgres.stream import PgLogWire


class Decoder:
    """Each message is a table that was not seen before: the catalogue and the registry are asked."""

    full, size = False, 0

    def __init__(self) -> None:
        self.now, self.explained = 0.0, 0

    def pass_rows(self, *_: object) -> tuple[int, int, bytes]:
        return 1, 1, b"w"

    def feed(self, _: bytes) -> None:
        self.explained += 1
        self.now += LONGEST_READ_S / 10


def test_the_first_changes_of_many_tables_do_not_hold_a_commit_back() -> None:
    decoder = Decoder()
    around: Any = SimpleNamespace(monotonic=lambda: decoder.now, most_batch_bytes=1 << 20)
    rhythm: Any = SimpleNamespace(status_every=10.0, most_silence=60.0)
    wire: Any = SimpleNamespace(get_copy_data=None)
    start: Any = SimpleNamespace(resume=0)
    made: Any = decoder
    log = PgLogWire(wire, made, start, around, slot="s", rhythm=rhythm)
    assert log.read_ahead() is ReadState.MORE
    assert decoder.explained <= 12
