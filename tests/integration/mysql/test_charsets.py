"""Every byte and every pair of every character set is read as the server shows it."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from pymysql.connections import Connection

from tests.integration.mysql.log_files import ask
from wrackline.producers.sources.mysql.events.charsets import charset

pytestmark = pytest.mark.servers

TOGETHER = 20_000  # texts a statement
HIGH, TRAIL = range(0x80, 0x100), range(0x100)
THREE_BYTES, FOUR_BYTES = {"ujis", "eucjpms"}, {"gb18030"}


@pytest.fixture
def charsets(connection: "Connection[Any]") -> Iterator[dict[str, int]]:
    """The sets of a server that have a reader, and how long a character is."""
    ask(connection, "CREATE DATABASE wl_charsets")
    ask(connection, "SET SESSION sql_mode = ''")
    told = dict(ask(connection, "SELECT character_set_name, maxlen FROM information_schema.character_sets"))
    yield told
    ask(connection, "DROP DATABASE wl_charsets")


def units(name: str, longest: int) -> list[bytes]:
    """All that may be a character of a set; of four bytes a part."""
    made = [bytes([one]) for one in TRAIL]
    if longest > 1:
        made += map(bytes, product(HIGH, TRAIL))
    if name in THREE_BYTES:
        made += map(bytes, product([0x8F], range(0xA1, 0xFF), range(0xA1, 0xFF)))
    if name in FOUR_BYTES:
        digits, high = range(0x30, 0x3A), range(0x81, 0xFF)
        made += map(bytes, product([0x81, 0x82, 0x84, 0x90, 0xE3, 0xFE], digits, high, digits))
    return made


def shown(connection: "Connection[Any]", name: str, texts: Sequence[bytes]) -> dict[bytes, str]:
    """What a SELECT shows of those that a column of this set can hold, as one character."""
    ask(connection, "CREATE TABLE wl_charsets.raw (i int primary key, b varbinary(4))")
    ask(connection, f"CREATE TABLE wl_charsets.told (i int primary key, v varchar(4) CHARACTER SET {name})")
    for first in range(0, len(texts), TOGETHER):
        rows = enumerate(texts[first : first + TOGETHER], first)
        values = ",".join(f"({number},x'{text.hex()}')" for number, text in rows)
        ask(connection, f"INSERT INTO wl_charsets.raw VALUES {values}")
    ask(
        connection,
        f"INSERT IGNORE INTO wl_charsets.told SELECT i, CONVERT(b USING {name}) FROM wl_charsets.raw",
    )
    found = ask(
        connection,
        "SELECT b, v FROM wl_charsets.raw JOIN wl_charsets.told USING (i)"
        " WHERE HEX(b) = HEX(v) AND CHAR_LENGTH(v) = 1",
    )
    ask(connection, "DROP TABLE wl_charsets.raw, wl_charsets.told")
    return dict(found)


@pytest.mark.full
def test_every_character(connection: "Connection[Any]", charsets: dict[str, int]) -> None:
    """T-T07."""
    ask(connection, "SET SESSION sql_log_bin = 0")
    for name, longest in charsets.items():
        reader = charset(name).reader
        assert charset(name).longest == longest
        if reader is None or name in {"ucs2", "utf16", "utf16le", "utf32"}:
            continue
        told = shown(connection, name, units(name, longest))
        assert len(told) > 127, name
        wrong = {raw.hex(): (reader(raw), text) for raw, text in told.items() if reader(raw) != text}
        assert not wrong, name
        assert reader(b"".join(told)) == "".join(told.values()), name


@pytest.mark.parametrize("name", ["ucs2", "utf16", "utf16le", "utf32"])
def test_wide_sets(connection: "Connection[Any]", name: str) -> None:
    text = "aé☃中" + ("" if name == "ucs2" else "\U0001f600")
    [[raw]] = ask(connection, f"SELECT CAST(CONVERT(%s USING {name}) AS BINARY)", text)
    reader = charset(name).reader
    assert reader is not None
    assert reader(raw) == text


def test_which_sets_are_ascii_below_0x80(connection: "Connection[Any]", charsets: dict[str, int]) -> None:
    plain = bytes(range(0x80))
    for name in charsets:
        [[text]] = ask(connection, f"SELECT CONVERT(CONVERT(x'{plain.hex()}' USING {name}) USING utf8mb4)")
        same = text in (plain.decode(), plain)
        assert charset(name).ascii == same, name
