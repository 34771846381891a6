"""Messages of pgoutput that no server sends: an error with a code, whose text shows no byte of them."""

import struct
from collections.abc import Callable

import pytest

from wrackline.producers.sources.postgres.rows import messages
from wrackline.schemas.errors import Definite
from wrackline.schemas.events.frame import MOST_US, moments

_TO_2000_US = 946_684_800_000_000


@pytest.mark.parametrize(
    ("parse", "body"),
    [
        (messages.begin, b""),
        (messages.commit, b"\0" * 20),
        (messages.relation, b"\0\0\0\1public"),
        (messages.relation, b"\0\0\0\1\xffsecret\0t\0d\0\0"),
        (messages.relation, b"\0\0\0\1public\0t\0\xff\0\0"),
        (messages.truncate, b"\0\0\0\2\0" + bytes(4)),
        (messages.message, b"\0" * 9 + b"prefix"),
    ],
)
def test_a_message_that_ends_too_early_or_is_no_text(
    parse: Callable[[bytes, int], object], body: bytes
) -> None:
    with pytest.raises(Definite) as raised:
        parse(b"X" + body, 1)
    assert raised.value.code == "pg.message_broken"
    assert "secret" not in str(raised.value)


def test_a_moment_whose_nanoseconds_are_no_long_is_refused() -> None:
    last, after = MOST_US - _TO_2000_US, MOST_US + 1 - _TO_2000_US
    begun = messages.begin(struct.pack(">QqI", 1, last, 7), 0)
    assert moments(begun.committed_us)
    assert messages.commit(struct.pack(">xQQq", 1, 2, last), 0).committed_ms == begun.committed_ms
    for parse, body in (
        (messages.begin, struct.pack(">QqI", 1, after, 7)),
        (messages.commit, struct.pack(">xQQq", 1, 2, after)),
        (messages.begin, struct.pack(">QqI", 1, -(1 << 63), 7)),
    ):
        with pytest.raises(Definite) as raised:
            parse(b"X" + body, 1)
        assert raised.value.code == "pg.message_broken"
