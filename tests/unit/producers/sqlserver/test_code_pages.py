"""Bytes of code pages as Windows reads them: the facts are its tables, which the Unicode Consortium keeps."""

import pytest

from wrackline.producers.sources.sqlserver.discover.code_pages import _more, _moved, decoded


@pytest.mark.parametrize(
    ("codec", "code", "character"),
    [
        ("cp936", "80", 0x20AC),
        ("cp936", "ff", 0xF8F5),
        ("cp936", "a140", 0xE4C6),
        ("cp936", "a17e", 0xE504),
        ("cp936", "a180", 0xE505),
        ("cp936", "a2a0", 0xE585),
        ("cp936", "a2fe", 0xE771),
        ("cp936", "a6fe", 0xE79F),
        ("cp936", "a9fe", 0xE80F),
        ("cp936", "aaa1", 0xE000),
        ("cp936", "affe", 0xE233),
        ("cp936", "d7fe", 0xE814),
        ("cp936", "fea0", 0xE864),
        ("cp936", "fefe", 0xE4C5),
        ("cp949", "80", 0x80),
        ("cp949", "c9fe", 0xE05D),
        ("cp949", "fefe", 0xE0BB),
        ("cp950", "80", 0x80),
        ("cp950", "8140", 0xEEB8),
        ("cp950", "8dfe", 0xF6B0),
        ("cp950", "a0fe", 0xEEB7),
        ("cp950", "c6a1", 0xF6B1),
        ("cp950", "c7fc", 0xF7A9),
        ("cp950", "c8fe", 0xF848),
        ("cp950", "fefe", 0xE310),
        ("cp874", "81", 0x81),
        ("cp874", "db", 0xF8C1),
        ("cp874", "ff", 0xF8C8),
        ("cp1250", "98", 0x98),
        ("cp1251", "98", 0x98),
        ("cp1252", "9d", 0x9D),
        ("cp1253", "d2", 0xF8FA),
        ("cp1254", "9e", 0x9E),
        ("cp1255", "ca", 0x5BA),
        ("cp1255", "df", 0xF893),
        ("cp1255", "fc", 0xF895),
        ("cp1257", "a5", 0xF8FD),
        ("cp1258", "9e", 0x9E),
    ],
)
def test_a_code_is_read_as_windows_reads_it(codec: str, code: str, character: int) -> None:
    assert (
        decoded(b"a" + bytes.fromhex(code) + b"b" + bytes.fromhex(code), codec)
        == f"a{chr(character)}b{chr(character)}"
    )


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        *(("cp936", text) for text in ("汉字", "€")),
        ("cp950", "漢字"),
        ("cp949", "한글"),
        ("cp932", "漢字\uff71"),
        ("cp874", "ไทย€"),
        ("cp1252", "é€"),
        ("utf-8", "é漢😀"),
    ],
)
def test_characters_that_both_have_are_the_same(codec: str, text: str) -> None:
    raw = b"\x80" if (codec, text) == ("cp936", "€") else text.encode(codec)
    assert decoded(raw, codec) == text


@pytest.mark.parametrize(
    ("codec", "raw"), [("cp936", b"a\x81"), ("cp950", b"\xa1"), ("cp949", b"\xc9\x20"), ("utf-8", b"\xff")]
)
def test_a_code_that_is_cut_or_that_nobody_has_is_refused(codec: str, raw: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        decoded(raw, codec)


def test_as_many_codes_are_added_as_windows_has_more() -> None:
    """2,151 codes of page 936, 190 of 949, 5,970 of 950 and 249 that Python reads as other characters."""
    added = {
        codec: sum(not _reads(code, codec) for code in _more(codec)) for codec in ("cp936", "cp949", "cp950")
    }
    assert added == {"cp936": 2151, "cp949": 190, "cp950": 5970}
    assert len(_moved()) == 249


def _reads(code: bytes, codec: str) -> bool:
    try:
        code.decode(codec)
    except UnicodeDecodeError:
        return False
    return True
