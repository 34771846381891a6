"""Character sets, in what needs no server."""

import pytest

from wrackline.producers.sources.mysql.events.charsets import charset, charset_of
from wrackline.schemas.errors import OperatorNeeded


@pytest.mark.parametrize(
    ("collation", "name"),
    [
        (255, "utf8mb4"),
        (33, "utf8mb3"),
        (8, "latin1"),
        (63, "binary"),
        (1024 + 8, "latin1"),  # NO PAD
        (1024 + 224, "utf8mb4"),
        (576, "utf8mb3"),
        (608, "utf8mb4"),
        (2048, "utf8mb3"),  # uca1400
        (2304 + 5, "utf8mb4"),
        (2560, "ucs2"),
        (2816, "utf16"),
        (3072, "utf32"),
    ],
)
def test_collations(collation: int, name: str) -> None:
    assert charset_of(collation, column="a.b.c").name == name


@pytest.mark.parametrize("collation", [0, 512, 1999, 2048 + 5 * 256])
def test_an_unknown_collation_is_refused(collation: int) -> None:
    with pytest.raises(OperatorNeeded, match=r"a\.b\.c") as raised:
        charset_of(collation, column="a.b.c")
    assert raised.value.code == "mysql.collation_unknown"
    assert charset_of(collation, column="a.b.c", charsets={collation: "greek"}).name == "greek"


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("latin1", b"\x80\x81\xe9", "€\x81é"),
        ("ascii", b"a\x80", "a?"),
        ("cp1251", b"\x98\xff", "?я"),
        ("tis620", b"\xdb", "\ufffd"),
        ("swe7", b"[$]", "Ä$Å"),
        ("sjis", b"a\x81\x5f\x5c", "a\\\\"),
        ("ujis", b"\xf5\xa1\x8f\xf5\xa1a", "\ue000\ue3aca"),
        ("eucjpms", b"\xad\xa1\x8f\xf3\xf3\x8e\xb1\xa1\xc1", "①ⅰｱ～"),  # noqa: RUF001 so the server shows it
        ("big5", b"\xf9\xd6\xa1\x5a", "碁\ufffd"),
        ("gb18030", b"\xa8\xbc\x81\x35\xf4\x37\x84\x31\xa4\x37", "ḿ\ue7c7\ufffd"),
        ("euckr", b"\x81\x41a", "갂a"),
        ("gbk", b"\xfe\xfea", "?a"),
        ("ucs2", b"\x00a\xd8\x3d\xde\x00", "a\U0001f600"),
        ("utf16le", b"a\x00", "a"),
        ("utf32", b"\x00\x01\xf6\x00", "\U0001f600"),
    ],
)
def test_text(name: str, raw: bytes, text: str) -> None:
    reader = charset(name).reader
    assert reader is not None
    assert reader(raw) == text


def test_half_of_a_pair_is_no_text() -> None:
    reader = charset("ucs2").reader
    assert reader is not None
    with pytest.raises(UnicodeDecodeError):
        reader(b"\xd8\x00")


def test_below_0x80_most_are_ascii() -> None:
    assert [charset(name).ascii for name in ("utf8mb4", "sjis", "swe7", "utf16le")] == [
        True,
        True,
        False,
        False,
    ]


def test_utf8_needs_no_reader() -> None:
    assert [charset(name).reader for name in ("utf8mb4", "utf8mb3", "binary")] == [None] * 3
