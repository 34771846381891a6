"""Without a key a row is its content: only what has gone out can go; both sources, in both builds."""

from collections import Counter
from itertools import product
from typing import Any

import pytest

from tests.fixtures.plain_build import PlainBuild
from tests.unit.producers.test_unfit_rows import (
    AMOUNT,
    DAY,
    FIT,
    LETTER,
    NAN,
    NULL,
    SEQ,
    WHY,
    Told,
    delete,
    insert,
    mysql,
    pg,
    update,
)

FITS, UNFIT, BOTH = (b"1", FIT, FIT), (b"1", NAN, FIT), (b"1", NAN, NAN)
ROW, NULLED = ["1", "1.50", "1.50"], ["1", None, "1.50"]
RATE_NULL = {**LETTER, "column.unfit.null": r".*\.rate"}
CASES: dict[str, tuple[Any, ...]] = {
    "a letter came": (LETTER, insert(*UNFIT), [("letter", "c", None, AMOUNT, SEQ)]),
    "what fitted goes, and the new content is a letter": (
        LETTER,
        update(UNFIT, FITS),
        [("d", ROW, None), ("letter", "u", None, AMOUNT, SEQ)],
    ),
    "what was a letter comes": (LETTER, update(FITS, UNFIT), [("c", None, ROW)]),
    "one letter becomes another": (
        LETTER,
        update((b"1", FIT, NAN), UNFIT),
        [("letter", "u", None, [("rate", WHY)], SEQ)],
    ),
    "a letter goes": (LETTER, delete(*UNFIT), []),
    "what fitted goes": (LETTER, delete(*FITS), [("d", ROW, None)]),
    "null came": (NULL, insert(*UNFIT), [("c", None, NULLED), ("nulls", "c", None, AMOUNT, SEQ)]),
    "null becomes a value": (
        NULL,
        update(FITS, UNFIT),
        [("u", NULLED, ROW), ("nulls", "u", None, AMOUNT, SEQ)],
    ),
    "a value becomes null": (
        NULL,
        update(UNFIT, FITS),
        [("u", ROW, NULLED), ("nulls", "u", None, AMOUNT, SEQ)],
    ),
    "null goes": (NULL, delete(*UNFIT), [("d", NULLED, None), ("nulls", "d", None, AMOUNT, SEQ)]),
    "what had a null goes with it, for a letter": (
        RATE_NULL,
        update(UNFIT, (b"1", FIT, NAN)),
        [("d", ["1", "1.50", None], None), ("letter", "u", None, AMOUNT, SEQ)],
    ),
    "a letter becomes a row with a null": (
        RATE_NULL,
        update((b"1", FIT, NAN), BOTH),
        [("c", None, ["1", "1.50", None]), ("nulls", "u", None, [("rate", WHY)], SEQ)],
    ),
    "a letter that had a null as well goes": (RATE_NULL, delete(*BOTH), []),
    "stop stops for the old content, too": (
        {},
        delete(*UNFIT),
        [("pg.value_unfit", "column.as.text = 'public.t.amount'")],
    ),
}


def keyless(settings: dict[str, str], message: bytes) -> list[Told]:
    return pg(settings, [message], keyed=False)


@pytest.mark.parametrize(("settings", "message", "expected"), CASES.values(), ids=CASES)
def test_postgresql_s_contents(
    settings: dict[str, str], message: bytes, expected: list[Told], plain_build: PlainBuild
) -> None:
    assert keyless(settings, message) == expected
    assert plain_build.call(keyless, settings, message) == expected


@pytest.mark.parametrize("settings", [LETTER, NULL])
def test_a_copy_has_each_content_as_often_as_the_table_has_it(settings: dict[str, str]) -> None:
    """After each step of a row's life the copy has its content, if that can be published, and no other."""
    contents = [FITS, UNFIT, (b"2", FIT, NAN), (b"2", b"3.00", FIT)]
    for first, second in product(contents, contents):
        copy: Counter[tuple[str | None, ...]] = Counter()
        for message, now in (
            (insert(*first), first),
            (update(second, first), second),
            (update(first, second), first),
            (delete(*first), None),
        ):
            for told in keyless(settings, message):
                if told[0] in {"c", "u", "d"}:
                    copy.subtract([tuple(told[1])] if told[1] else [])
                    copy.update([tuple(told[2])] if told[2] else [])
            held = {content: times for content, times in copy.items() if times}
            has = now is not None and (settings == NULL or NAN not in now)
            assert held == ({content_of(now): 1} if has else {}), (first, second, now)


def content_of(cells: tuple[bytes, ...] | None) -> tuple[str | None, ...]:
    return tuple(None if cell == NAN else cell.decode() for cell in cells or ())


def test_a_row_of_which_nothing_goes_out_is_taken_once() -> None:
    """A size of 0 would say that the row was not taken, and it would be counted as two."""
    from tests.unit.producers.test_unfit_rows import pg_shape  # noqa: PLC0415 - it imports what the build decides
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder  # noqa: PLC0415
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415

    frame = Frame(b"\0" * 12, b"00" * 11)
    for changed_only, settings, message in (
        (False, LETTER, delete(*UNFIT)),
        (True, RATE_NULL, update((b"1", FIT, NAN), (b"1", FIT, NAN))),
    ):
        decoder = PgRowDecoder(3, pg_shape(settings, keyed=changed_only), 1, 2, changed_only=changed_only)
        made: list[Any] = []
        assert decoder.decode(message, 0, frame, 9, made) > 0
        assert made == []


MYSQL_CASES: dict[str, tuple[Any, ...]] = {
    "what fitted goes": (LETTER, "update", [("d", DAY, None), ("letter", 0, 0, 1, "u", None, ["day"])]),
    "what was a letter comes": (LETTER, "before", [("c", None, DAY)]),
    "a letter goes": (LETTER, "delete", []),
    "null goes": (NULL, "delete", [("d", "None", None), ("nulls", 0, 0, 1, "d", None, ["day"])]),
}


@pytest.mark.parametrize(("settings", "case", "expected"), MYSQL_CASES.values(), ids=MYSQL_CASES)
def test_mysql_s_contents(
    settings: dict[str, str], case: str, expected: list[Told], plain_build: PlainBuild
) -> None:
    assert mysql(settings, case, None) == expected
    assert plain_build.call(mysql, settings, case, None) == expected
