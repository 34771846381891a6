"""Rows with values that do not fit: what each policy makes of them, on both sources and in both builds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.fixtures.pgoutput import Cell
from tests.fixtures.plain_build import PlainBuild

Told = tuple[Any, ...]
NAN, FIT = b"NaN", b"1.50"


def pg_shape(settings: dict[str, str], *, keyed: bool = True, nan_key: bool = False) -> Any:
    """A projection of id, amount and rate as these settings make it."""
    from wrackline.schemas.events.projection import project  # noqa: PLC0415
    from wrackline.schemas.settings.filters import ColumnRules  # noqa: PLC0415 - of that process, as all below
    from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema  # noqa: PLC0415
    from wrackline.schemas.tables.types import ColumnType, Kind  # noqa: PLC0415

    number = ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2)
    table = TableSchema(
        TableId("d", "public", "t"),
        (
            Column("id", 1, number if nan_key else ColumnType(Kind.INT32, "integer"), nullable=False),
            Column("amount", 2, number, nullable=False),
            Column("rate", 3, number),
        ),
        ("id",) if keyed else (),
        KeyKind.PRIMARY if keyed else KeyKind.NONE,
    )
    values: dict[str, Any] = {
        name: text if name == "value.unfit" else tuple(text.split(",")) for name, text in settings.items()
    }
    return project(table, ColumnRules.of(values))


def pg(settings: dict[str, str], messages: Sequence[bytes], **shaped: bool) -> list[Told]:
    """What PostgreSQL's messages become: events, what is said of a row, or the error's code and columns."""
    import io  # noqa: PLC0415

    import fastavro  # noqa: PLC0415

    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415
    from wrackline.producers.rows.unfit_values import SettledRow  # noqa: PLC0415
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder  # noqa: PLC0415
    from wrackline.schemas.errors import OperatorNeeded  # noqa: PLC0415
    from wrackline.schemas.events import envelope  # noqa: PLC0415
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415

    shape = pg_shape(settings, **shaped)
    schema = fastavro.parse_schema(
        envelope.value_schema(shape.table, topic="s.d.public.t", connector="postgresql", source_fields=())
    )
    decoder = PgRowDecoder(3, shape, 1, 2)
    told: list[Told] = []
    for message in messages:
        made: list[RowChange] = []
        misfits = []
        try:
            decoder.decode(message, 0, Frame(b"\0" * 12, b"00" * 11), 9, made)
        except SettledRow as settled:
            made += settled.events
            misfits = [settled.misfit]
        except OperatorNeeded as refused:
            told.append((refused.code, refused.hint.partition(" ")[2].partition(" to ")[0]))
        for _, op, _, value, unsent in made:
            event: Any = fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None)
            images = plainly(event["before"]), plainly(event["after"])
            told.append((op, *images) if unsent is None else (op, *images, unsent.columns))
        for one in misfits:
            names = [(column.name, column.reason) for column in one.columns]
            told.append(("letter" if one.letter else "nulls", one.op, one.key, names, one.seq))
    return told


def plainly(row: dict[str, Any] | None) -> list[str | None] | None:
    return None if row is None else [None if value is None else str(value) for value in row.values()]


def key(number: int) -> bytes:
    return b"\x00\x00\x00\x00\x01" + bytes([2 * number])


def insert(*cells: bytes | None) -> bytes:
    from tests.fixtures.pgoutput import insert as made  # noqa: PLC0415 - it imports what the build decides

    return made(cells)


def update(
    new: Sequence[bytes | Cell | None], old: Sequence[bytes | None] | None, old_is: bytes = b"O"
) -> bytes:
    from tests.fixtures.pgoutput import update as made  # noqa: PLC0415

    return made(new, old, old_is)


def delete(*cells: bytes | None) -> bytes:
    from tests.fixtures.pgoutput import delete as made  # noqa: PLC0415

    return made(cells, b"O")


SEQ = "00" * 11 + "00000009"
WHY = "it is not a number"
AMOUNT = [("amount", WHY)]
KEY_FITS = b"\x00\x00\x00\x00\x01\x04\x00\x96"  # 1.50
LETTER, NULL = {"value.unfit": "letter"}, {"value.unfit": "null"}
PG_CASES: dict[str, tuple[Any, ...]] = {
    "stop names every column": (
        {},
        [insert(b"1", NAN, NAN)],
        [("pg.value_unfit", "column.as.text = 'public.t.amount,public.t.rate'")],
    ),
    "null": (
        NULL,
        [insert(b"1", NAN, FIT)],
        [("c", None, ["1", None, "1.50"]), ("nulls", "c", key(1), AMOUNT, SEQ)],
    ),
    "null of one column": (
        {"column.unfit.null": r".*\.amount"},
        [insert(b"1", NAN, FIT), insert(b"1", FIT, NAN)],
        [
            ("c", None, ["1", None, "1.50"]),
            ("nulls", "c", key(1), AMOUNT, SEQ),
            ("pg.value_unfit", "column.as.text = 'public.t.rate'"),
        ],
    ),
    "stop of one column": (
        {**LETTER, "column.unfit.stop": r".*\.amount"},
        [insert(b"1", NAN, NAN)],
        [("pg.value_unfit", "column.as.text = 'public.t.amount'")],
    ),
    "letter": (LETTER, [insert(b"1", NAN, FIT)], [("letter", "c", key(1), AMOUNT, SEQ)]),
    "a letter beside a null is a letter": (
        {**NULL, "column.unfit.letter": r".*\.rate"},
        [insert(b"1", NAN, NAN)],
        [("letter", "c", key(1), [*AMOUNT, ("rate", WHY)], SEQ)],
    ),
    "an update is a letter": (
        LETTER,
        [update([b"1", NAN, FIT], None)],
        [("letter", "u", key(1), AMOUNT, SEQ)],
    ),
    "a changed key leaves its old one": (
        LETTER,
        [update([b"2", NAN, FIT], [b"1", FIT, FIT])],
        [("d", ["1", "1.50", "1.50"], None), ("letter", "u", key(2), AMOUNT, SEQ)],
    ),
    "the old row alone stops nothing": (
        LETTER,
        [update([b"1", FIT, FIT], [b"1", NAN, FIT]), delete(b"1", NAN, FIT)],
        [("u", ["1", None, "1.50"], ["1", "1.50", "1.50"]), ("d", ["1", None, "1.50"], None)],
    ),
    "nor where null is published": (
        NULL,
        [update([b"1", FIT, FIT], [b"1", NAN, FIT])],
        [("u", ["1", None, "1.50"], ["1", "1.50", "1.50"])],
    ),
    "both rows": (
        NULL,
        [update([b"1", NAN, FIT], [b"1", NAN, FIT])],
        [("u", ["1", None, "1.50"], ["1", None, "1.50"]), ("nulls", "u", key(1), AMOUNT, SEQ)],
    ),
    "the old row stops where that is said": (
        {},
        [delete(b"1", NAN, FIT)],
        [("pg.value_unfit", "column.as.text = 'public.t.amount'")],
    ),
}


@pytest.mark.parametrize(("settings", "messages", "expected"), PG_CASES.values(), ids=PG_CASES)
def test_postgresql_rows_that_do_not_fit(
    settings: dict[str, str], messages: list[bytes], expected: list[Told], plain_build: PlainBuild
) -> None:
    assert pg(settings, messages) == expected
    assert plain_build.call(pg, settings, messages) == expected


PG_KEY_CASES: dict[str, tuple[Any, ...]] = {
    "the old key of a row whose new key does not fit is deleted": (
        LETTER,
        [update([NAN, FIT, FIT], [FIT, FIT, FIT]), update([NAN, FIT, FIT], [FIT, None, None], b"K")],
        [
            ("d", ["1.50", "1.50", "1.50"], None),
            ("letter", "u", None, [("id", WHY)], SEQ),
            ("d", ["1.50", None, None], None),
            ("letter", "u", None, [("id", WHY)], SEQ),
        ],
    ),
    "a row whose key fits again is made": (
        LETTER,
        [update([FIT, FIT, FIT], [NAN, FIT, FIT]), update([FIT, FIT, Cell.UNSENT], [NAN, None, None], b"K")],
        [("c", None, ["1.50", "1.50", "1.50"]), ("c", None, ["1.50", "1.50", None], ("rate",))],
    ),
    "with nulls where it has others that do not fit": (
        {**LETTER, "column.unfit.null": r".*\.amount"},
        [update([FIT, NAN, FIT], [NAN, NAN, FIT])],
        [("c", None, ["1.50", None, "1.50"]), ("nulls", "u", KEY_FITS, AMOUNT, SEQ)],
    ),
    "or set aside for them": (
        LETTER,
        [update([FIT, NAN, FIT], [NAN, FIT, FIT])],
        [("letter", "u", KEY_FITS, AMOUNT, SEQ)],
    ),
    "a row whose key never fits": (
        LETTER,
        [update([NAN, FIT, FIT], [NAN, FIT, FIT]), delete(NAN, FIT, FIT)],
        [("letter", "u", None, [("id", WHY)], SEQ), ("letter", "d", None, [("id", WHY)], SEQ)],
    ),
    "a key that stops the table does so in the old row, too": (
        {},
        [update([FIT, FIT, FIT], [NAN, FIT, FIT])],
        [("pg.value_unfit", "column.as.text = 'public.t.id'")],
    ),
}


def pg_nan_key(settings: dict[str, str], messages: Sequence[bytes]) -> list[Told]:
    return pg(settings, messages, nan_key=True)


@pytest.mark.parametrize(("settings", "messages", "expected"), PG_KEY_CASES.values(), ids=PG_KEY_CASES)
def test_postgresql_keys_that_do_not_fit(
    settings: dict[str, str], messages: list[bytes], expected: list[Told], plain_build: PlainBuild
) -> None:
    assert pg_nan_key(settings, messages) == expected
    assert plain_build.call(pg_nan_key, settings, messages) == expected


def test_a_key_that_does_not_fit_is_never_null() -> None:
    (told,) = pg(NULL, [insert(NAN, FIT, FIT)], nan_key=True)
    assert told[0] == "pg.value_unfit"
    assert pg(LETTER, [insert(NAN, FIT, FIT)], nan_key=True) == [("letter", "c", None, [("id", WHY)], SEQ)]


def test_a_column_that_may_be_published_as_null_says_so_in_its_schema() -> None:
    from wrackline.schemas.settings.filters import OnUnfit  # noqa: PLC0415

    columns = {column.name: column.nullable for column in pg_shape(NULL).table.columns}
    assert columns == {"id": False, "amount": True, "rate": True}
    assert not pg_shape(LETTER).table.column("amount").nullable
    assert pg_shape(NULL).on_unfit == (OnUnfit.STOP, OnUnfit.NULL, OnUnfit.NULL)


def pg_lines(settings: dict[str, str]) -> list[Told]:
    """Three lines of COPY into slices of two: one of them does not fit, one has an escape."""
    from wrackline.producers.contract.row_chunks import ChunkRequest  # noqa: PLC0415
    from wrackline.producers.sources.postgres.chunks.slicing import PgSlicing  # noqa: PLC0415
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder  # noqa: PLC0415

    shape = pg_shape(settings)
    request = ChunkRequest(shape.table.id, ("id",), slice_rows=2)
    slicing = PgSlicing(PgRowDecoder(0, shape, 1, 2), ["id", "amount", "rate"], request)
    lines = iter([b"1\t1.50\t1.50\n", b"2\tNaN\t1.50\n", b"3\t1.50\t\\N\n", b"4\tNaN\tNaN\n"])

    def coming(_: int) -> tuple[int, memoryview]:
        line = next(lines, None)
        return (-1, memoryview(b"")) if line is None else (len(line), memoryview(line))

    slicing.fill(coming)
    found = [("count", slicing.count)]
    return found + [
        ([key for key, _ in one.rows], [(each.letter, each.key, each.seq) for each in one.misfits], one.upto)
        for one in slicing.end()
    ]


def test_postgresql_s_chunk_passes_a_row_that_is_set_aside(plain_build: PlainBuild) -> None:
    letters = [(True, key(2), None), (True, key(4), None)]
    expected = [("count", 4), ([key(1), key(3)], letters[:1], ("3",)), ([], letters[1:], ("4",))]
    assert pg_lines(LETTER) == expected
    assert plain_build.call(pg_lines, LETTER) == expected
    keys = [key for keys, _, _ in pg_lines(NULL)[1:] for key in keys]
    assert keys == [key(number) for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("settings", "letters"),
    [
        ({}, "public.t.amount,public.t.rate"),
        ({"column.unfit.null": r"public\.t\.rate"}, "public.t.amount"),
    ],
)
def test_a_stop_offers_letters_for_the_columns_that_may_be_next(
    settings: dict[str, str], letters: str
) -> None:
    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder  # noqa: PLC0415
    from wrackline.schemas.errors import OperatorNeeded  # noqa: PLC0415
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415

    made: list[RowChange] = []
    with pytest.raises(OperatorNeeded) as caught:
        PgRowDecoder(3, pg_shape(settings), 1, 2).decode(
            insert(b"1", NAN, FIT), 0, Frame(b"\0" * 12, b"00" * 11), 9, made
        )
    assert "column.as.text = 'public.t.amount' to" in caught.value.hint
    assert f"column.unfit.letter = '{letters}' to" in caught.value.hint


def mysql_shape(settings: dict[str, str], key: str | None = "id") -> Any:
    from tests.unit.producers.mysql.test_rows import TABLE  # noqa: PLC0415
    from wrackline.schemas.events.projection import project  # noqa: PLC0415
    from wrackline.schemas.settings.filters import ColumnRules  # noqa: PLC0415
    from wrackline.schemas.tables.table import KeyKind  # noqa: PLC0415

    keyed = replace(TABLE, key=(key,)) if key else replace(TABLE, key=(), key_kind=KeyKind.NONE)
    return project(keyed, ColumnRules.of(dict(settings)))


def mysql(settings: dict[str, str], case: str, key: str | None = "id") -> list[Told]:
    """What the rows of one event become: their keys and ops, and what is said of which row."""
    from tests.fixtures.rows_events import (  # noqa: PLC0415
        DELETE,
        PARTIAL_UPDATE,
        UPDATE,
        WRITE,
        rows_event,
        sized,
    )
    from tests.unit.producers.mysql import test_rows as few  # noqa: PLC0415
    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415
    from wrackline.schemas.errors import OperatorNeeded  # noqa: PLC0415

    shape = mysql_shape(settings, key)
    broken = sized(b"\x0f\xff\xff", 4)  # a document of a kind that nobody knows
    good, zero = few.row(1), few.row(2, *few.NAME_AND_MORE[:2], bytes(3), few.NAME_AND_MORE[3])
    moved = few.row(3, *few.NAME_AND_MORE[:2], bytes(3), few.NAME_AND_MORE[3])
    both = few.row(2, *few.NAME_AND_MORE[:2], bytes(3), broken)
    whole = few.row(2)
    diff = b"\x01\x01" + few.row(1, None, None, None, sized(few.REPLACED, 4))
    cases = {
        "write": (WRITE, [good, zero, few.row(3)]),
        "update": (UPDATE, [whole, zero]),
        "moved": (UPDATE, [whole, moved]),
        "before": (UPDATE, [zero, whole]),
        "delete": (DELETE, [zero]),
        "document": (WRITE, [both, few.row(3)]),
        "diff": (PARTIAL_UPDATE, [few.row(1, None, None, None, None), diff]),
    }
    kind, images = cases[case]
    body = rows_event(kind, 5, *images)
    made: list[RowChange] = []
    decoder = few.decoder(shape)
    try:
        decoder.decode(body, 0, len(body), kind, few.FRAME, 9, 0, made)
    except OperatorNeeded as refused:
        return [(refused.code, refused.hint.partition(" ")[2].partition(" to ")[0])]
    told: list[Told] = []
    for _, op, _, value, _ in made:
        event = few.read(value, shape.table)
        days = [None if image is None else str(image["day"]) for image in (event["before"], event["after"])]
        told.append((op, *days))
    for at in decoder.misfits:
        one, names = at.misfit, [column.name for column in at.misfit.columns]
        told.append(("letter" if one.letter else "nulls", at.row, at.first, at.end, one.op, one.key, names))
    return told


DAY = "2026-01-01"
MYSQL_CASES: dict[str, tuple[Any, ...]] = {
    "stop names every column": (
        {},
        "document",
        [("mysql.value_unfit", "column.as.text = 'd.t.day,d.t.doc'")],
    ),
    "null between others": (
        NULL,
        "write",
        [("c", None, DAY), ("c", None, "None"), ("c", None, DAY), ("nulls", 1, 1, 2, "c", key(2), ["day"])],
    ),
    "letter between others": (
        LETTER,
        "write",
        [("c", None, DAY), ("c", None, DAY), ("letter", 1, 1, 1, "c", key(2), ["day"])],
    ),
    "an update is a letter": (LETTER, "update", [("letter", 0, 0, 0, "u", key(2), ["day"])]),
    "a changed key leaves its old one": (
        LETTER,
        "moved",
        [("d", DAY, None), ("letter", 0, 0, 1, "u", key(3), ["day"])],
    ),
    "the old row alone stops nothing": (LETTER, "before", [("u", "None", DAY)]),
    "nor where it is deleted": (NULL, "delete", [("d", "None", None)]),
    "a document": (
        NULL,
        "document",
        [("c", None, "None"), ("c", None, DAY), ("nulls", 0, 0, 1, "c", key(2), ["day", "doc"])],
    ),
    "a document that is changed": (LETTER, "diff", [("letter", 0, 0, 0, "u", key(1), ["doc"])]),
}


@pytest.mark.parametrize(("settings", "case", "expected"), MYSQL_CASES.values(), ids=MYSQL_CASES)
def test_mysql_rows_that_do_not_fit(
    settings: dict[str, str], case: str, expected: list[Told], plain_build: PlainBuild
) -> None:
    assert mysql(settings, case) == expected
    assert plain_build.call(mysql, settings, case) == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("update", [("d", DAY, None), ("letter", 0, 0, 1, "u", None, ["day"])]),
        ("before", [("c", None, DAY)]),
        ("delete", [("letter", 0, 0, 0, "d", None, ["day"])]),
    ],
)
def test_mysql_keys_that_do_not_fit(case: str, expected: list[Told], plain_build: PlainBuild) -> None:
    assert mysql(LETTER, case, "day") == expected
    assert plain_build.call(mysql, LETTER, case, "day") == expected


def mysql_orders(settings: dict[str, str]) -> list[int]:
    """The numbers in their transaction of three updates; the last has a document that can't be made."""
    from tests.fixtures.rows_events import UPDATE, rows_event, sized  # noqa: PLC0415
    from tests.unit.producers.mysql import test_rows as few  # noqa: PLC0415
    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415

    shape = mysql_shape(settings)
    broken = few.row(1, *few.NAME_AND_MORE[:3], sized(b"\x0f\xff\xff", 4))
    other = few.row(1, sized(b"c"), *few.NAME_AND_MORE[1:])
    body = rows_event(UPDATE, 5, few.row(1), other, other, few.row(1), few.row(1), broken)
    frame = Frame(b"\0" * 12, b"00" * 11, transaction="t")
    made: list[RowChange] = []
    few.decoder(shape).decode(body, 0, len(body), UPDATE, frame, 9, 0, made)
    return [few.read(value, shape.table)["transaction"]["total_order"] for _, _, _, value, _ in made]


def test_rows_before_one_that_does_not_fit_keep_their_numbers(plain_build: PlainBuild) -> None:
    assert mysql_orders(NULL) == [1, 2, 3]
    assert plain_build.call(mysql_orders, NULL) == [1, 2, 3]


def mysql_result(settings: dict[str, str]) -> list[Told]:
    """A result's row that does not fit."""
    from tests.fixtures.rows_events import result_row, sized  # noqa: PLC0415
    from tests.unit.producers.mysql import test_rows as few  # noqa: PLC0415
    from wrackline.producers.rows.unfit_values import SettledRow  # noqa: PLC0415
    from wrackline.producers.sources.mysql.rows.rows import ResultDecoder  # noqa: PLC0415

    decoder = ResultDecoder(0, mysql_shape(settings), few.WIRE, 1, 2)
    row = result_row([(7).to_bytes(4, "little"), sized(b"b"), sized(b"1.02"), b"\x00", sized(b"7")])
    try:
        decoder.read(row)
    except SettledRow as settled:
        return [(settled.misfit.letter, settled.misfit.key, settled.row is None)]
    return []


def test_mysql_s_chunk_says_what_it_sets_aside(plain_build: PlainBuild) -> None:
    for settings, expected in ((LETTER, (True, key(7), True)), (NULL, (False, key(7), False))):
        assert mysql_result(settings) == [expected]
        assert plain_build.call(mysql_result, settings) == [expected]
