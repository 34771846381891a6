"""Values of SQL_REDO: what a cell says, and what is refused because it is not written as its kind."""

import pytest

from wrackline.producers.sources.oracle.redo.kinds import RedoKind, UnknownRedoError
from wrackline.producers.sources.oracle.redo.values import RedoMoment, RedoValue, value_of

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (RedoKind.NULL, "", None),
        (RedoKind.TEXT, "", ""),
        (RedoKind.TEXT, "a\\00E9", "a\\00E9"),
        (RedoKind.QUOTED, "''a''''", "'a''"),
        (RedoKind.NUMBER, "-1.79E+100", "-1.79E+100"),
        (RedoKind.RAW, "deadBEEF", b"\xde\xad\xbe\xef"),
        (RedoKind.RAW, "", b""),
        (RedoKind.UNISTR, r"nch\00E1r", "nchár"),
        (RedoKind.UNISTR, r"\D83D\DE00 ''\\00E9", "\N{GRINNING FACE} '\\00E9"),
        (RedoKind.CHAIN, r"UNISTR('\0412') || 'b|| ''' ||UNISTR('')", "\N{CYRILLIC CAPITAL LETTER VE}b|| '"),
        (RedoKind.DATE, "1970-01-02 00:00:01", DAY + 1_000_000),
        (RedoKind.DATE, "0001-01-01 00:00:00", -719_162 * DAY),
        (RedoKind.DATE, "-0001-12-31 00:00:00", -719_163 * DAY),
        (RedoKind.DATE, "-0001-02-29 00:00:00", -719_469 * DAY),
        (RedoKind.DATE, "-4712-01-01 00:00:00", -2_440_184 * DAY),
        (RedoKind.DATE, "9999-12-31 23:59:59", 2_932_897 * DAY - 1_000_000),
        (RedoKind.TIMESTAMP, "1970-01-01 00:00:00.", 0),
        (RedoKind.TIMESTAMP, "1969-12-31 23:59:59.9999999", -1),
        (RedoKind.TIMESTAMP, "2000-02-29 00:00:00.5", 11_016 * DAY + 500_000),
        (RedoKind.ZONED, "1970-01-01 00:00:00.000000000 -05:30", RedoMoment(0, -330)),
        (RedoKind.DATE, "1970-03-01 00:00:00", 59 * DAY),
        (RedoKind.DATE, "2000-03-01 00:00:00", 11_017 * DAY),
        (RedoKind.DATE, "2024-02-29 00:00:00", 19_782 * DAY),
        (RedoKind.ZONED, "1970-01-01 00:00:00 +05:45", RedoMoment(0, 345)),
        (RedoKind.ZONED, "1970-01-01 00:00:00 +15:00", RedoMoment(0, 900)),
        (RedoKind.ZONED, "1970-01-01 00:00:00 -15:00", RedoMoment(0, -900)),
        (RedoKind.ZONED, "1970-01-01 00:00:00.25", RedoMoment(250_000, None)),
        (RedoKind.DAYS, "-00001 02:03:04.5", -(DAY + 7_384_500_000)),
        (RedoKind.DAYS, "+00001 23:59:59", 2 * DAY - 1_000_000),
        (RedoKind.MONTHS, "+0012-03", 147),
        (RedoKind.MONTHS, "-0001-11", -23),
        (RedoKind.EMPTY_CLOB, "", ""),
        (RedoKind.EMPTY_BLOB, "", b""),
        (RedoKind.XML, "<a>it''s</a>", "<a>it's</a>"),
    ],
)
def test_a_value_is_read(kind: RedoKind, text: str, value: RedoValue) -> None:
    assert value_of(kind, text.encode()) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RedoKind.RAW, "abc"),
        (RedoKind.RAW, "zz"),
        (RedoKind.RAW, "de ad"),
        (RedoKind.UNISTR, "\\"),
        (RedoKind.UNISTR, r"\00E"),
        (RedoKind.UNISTR, r"\00G1"),
        (RedoKind.UNISTR, r"\D83D"),
        (RedoKind.UNISTR, r"\DE00\D83D"),
        (RedoKind.CHAIN, ""),
        (RedoKind.CHAIN, "'a' ||"),
        (RedoKind.CHAIN, "'a' 'b'"),
        (RedoKind.CHAIN, "'a')"),
        (RedoKind.CHAIN, "UNISTR('a'"),
        (RedoKind.CHAIN, "'a' || NULL"),
        (RedoKind.DATE, "2020-01-01"),
        (RedoKind.DATE, "20-01-01 00:00:00"),
        (RedoKind.DATE, "2020-01-01T00:00:00"),
        (RedoKind.DATE, "2020-01-01 00:00:00 +01:00"),
        (RedoKind.DATE, "2020-00-01 00:00:00"),
        (RedoKind.DATE, "2020-13-01 00:00:00"),
        (RedoKind.DATE, "2020-02-30 00:00:00"),
        (RedoKind.DATE, "1900-02-29 00:00:00"),
        (RedoKind.DATE, "2021-02-29 00:00:00"),
        (RedoKind.DATE, "2020-04-31 00:00:00"),
        (RedoKind.DATE, "2020-01-00 00:00:00"),
        (RedoKind.DATE, "0000-01-01 00:00:00"),
        (RedoKind.DATE, "2020-01-01 24:00:00"),
        (RedoKind.DATE, "2020-01-01 00:60:00"),
        (RedoKind.DATE, "2020-01-01 00:00:60"),
        (RedoKind.DATE, "\N{ARABIC-INDIC DIGIT TWO}020-01-01 00:00:00"),
        (RedoKind.TIMESTAMP, "2020-01-01 00:00:00.1234567890"),
        (RedoKind.TIMESTAMP, "2020-01-01 00:00:00,5"),
        (RedoKind.TIMESTAMP, "2020-01-01 00:00:00 Z"),
        (RedoKind.ZONED, "2020-01-01 00:00:00 Europe/Rome"),
        (RedoKind.ZONED, "2020-01-01 00:00:00 +15:01"),
        (RedoKind.ZONED, "2020-01-01 00:00:00 +16:00"),
        (RedoKind.DAYS, "1 00:00:00"),
        (RedoKind.DAYS, "+1 24:00:00"),
        (RedoKind.DAYS, "+1 00:60:00"),
        (RedoKind.DAYS, "+1 00:00:60"),
        (RedoKind.MONTHS, "1-0"),
        (RedoKind.MONTHS, "+1-12"),
        (RedoKind.BOUND, ""),
        (RedoKind.UNSUPPORTED, ""),
    ],
)
def test_what_is_not_written_as_its_kind_is_refused(kind: RedoKind, text: str) -> None:
    with pytest.raises(UnknownRedoError) as caught:
        value_of(kind, text.encode())
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("kind", [RedoKind.TEXT, RedoKind.RAW, RedoKind.DATE])
def test_bytes_that_are_no_text_are_refused(kind: RedoKind) -> None:
    with pytest.raises(UnknownRedoError, match="not UTF-8, at byte 3"):
        value_of(kind, b"caf\xe9")


def test_a_moment_without_a_zone_has_no_place_in_utc() -> None:
    assert RedoMoment(0, 60).instant == -3_600_000_000
    with pytest.raises(UnknownRedoError):
        _ = RedoMoment(0, None).instant
