"""Statements into events: images, keys, values that SQL_REDO lacks, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures.plain_build import PlainBuild
from tests.unit.producers.oracle.rows.decoding import (
    CLOB,
    DOUBLE,
    ID,
    NUMBER,
    TEXT,
    changes,
    decoder_of,
    table_of,
)
from wrackline.producers.contract.steps import RowChange, Unsent
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.mining.mined_row import EXTENDED_BEGIN, LOB_LOCATOR, XML_BEGIN
from wrackline.producers.sources.oracle.redo.kinds import UnknownColumnsError, UnknownRedoError
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Plain, Projection, project
from wrackline.schemas.language.masks import StarsMask
from wrackline.schemas.settings.filters import ColumnRules, OnUnfit

INSERT, DELETE, UPDATE = 1, 2, 3
PLAIN = {"ID": ID, "NAME": TEXT, "N": NUMBER}
LARGE = {"ID": ID, "NAME": TEXT, "BODY": CLOB}
ROW = '"ID" = \'7\' and "NAME" = \'a\' and "N" IS NULL'
LARGE_ROW = "\"ID\" = '7' and \"NAME\" = 'a'"

EXTENDED_ROW = LARGE_ROW.replace("'", "''")
LOCATOR = 'DECLARE \n loc_c CLOB; \nBEGIN\n select "BODY" into loc_c from "S"."T" where'
BLOCK = "DECLARE\n Stmt    CLOB;\nBEGIN\n DBMS_LOB.CreateTemporary(TempLob, FALSE);\n Stmt := "

Row = tuple[object, ...] | None


def event(columns: dict[str, OracleType], op: str, before: Row, after: Row, ordinal: int = 0) -> bytes:
    """The bytes of an event without unsent values."""
    head = RowEncoder(table_of(columns), 7, 8).head(before, after)
    return head + b"<source>\0\0\0\x02" + op.encode() + b"\0\0\0\x1a<seq>%08x" % ordinal


def key(number: int) -> bytes:
    return b"\0\0\0\0\x07" + bytes([2 * number])


def in_both(plain_build: PlainBuild, function: Callable[..., Any], *args: object) -> Any:
    """Call it here and where the modules run as plain Python; both must say the same."""
    found = function(*args)
    assert plain_build.call(function, *args) == found
    return found


def events_of(
    columns: dict[str, OracleType], *statements: tuple[int, str], **options: Any
) -> list[RowChange]:
    return changes(decoder_of(columns, **options), *statements)


def refused(columns: dict[str, OracleType], operation: int, redo: str) -> str:
    try:
        found = events_of(columns, (operation, redo))
    except (UnknownColumnsError, UnknownRedoError, OperatorNeeded) as error:
        return str(getattr(error, "code", None) or getattr(error, "reason", ""))
    return f"read: {found}"


def test_an_insert_a_delete_and_an_update(plain_build: PlainBuild) -> None:
    found = in_both(
        plain_build,
        events_of,
        PLAIN,
        (INSERT, """insert into "S"."T"("ID","NAME","N") values ('7','a',NULL);"""),
        (UPDATE, f"""update "S"."T" a set a."N" = '.5' where a.{ROW.replace("and ", "and a.")};"""),
        (DELETE, f"""delete from "S"."T" where {ROW} and ROWID = 'AAAF0jAAEAAAACXAAA';"""),
    )
    assert found == [
        (1, "c", key(7), event(PLAIN, "c", None, (7, "a", None)), None),
        (1, "u", key(7), event(PLAIN, "u", (7, "a", None), (7, "a", "0.5"), 1), None),
        (1, "d", key(7), event(PLAIN, "d", (7, "a", None), None, 2), None),
    ]


def test_a_changed_key_is_the_end_of_one_row_and_the_begin_of_another(plain_build: PlainBuild) -> None:
    found = in_both(
        plain_build, events_of, PLAIN, (UPDATE, f"""update "S"."T" set "ID" = '8' where {ROW};""")
    )
    assert [(op, its_key) for _, op, its_key, _, _ in found] == [("d", key(7)), ("c", key(8))]


def test_columns_may_come_in_any_order(plain_build: PlainBuild) -> None:
    redo = """insert into "S"."T"("N","ID","NAME") values ('1','7','a');"""
    ((*_, value, _),) = in_both(plain_build, events_of, PLAIN, (INSERT, redo))
    assert value == event(PLAIN, "c", None, (7, "a", "1"))


def test_a_large_object_that_an_update_does_not_touch_keeps_its_value(plain_build: PlainBuild) -> None:
    redo = f"""update "S"."T" set "NAME" = 'b' where {LARGE_ROW};"""
    ((_, op, _, value, unsent),) = in_both(plain_build, events_of, LARGE, (UPDATE, redo))
    assert (op, unsent) == ("u", Unsent(("BODY",), again=False))
    assert b"\x02\x02\x08BODY\x00" in value
    assert value.startswith(RowEncoder(table_of(LARGE), 7, 8).head((7, "a", None), (7, "b", None)))


@pytest.mark.parametrize(
    ("operation", "redo"),
    [
        (UPDATE, f"""update "S"."T" set "BODY" = EMPTY_CLOB() where {LARGE_ROW};"""),
        (
            LOB_LOCATOR,
            f"{LOCATOR} {LARGE_ROW} for update;",
        ),
        (XML_BEGIN, f"""XML DOC BEGIN:  select "BODY" from "S"."T" where {LARGE_ROW}"""),
        (XML_BEGIN, f"""update "S"."T" set "BODY" = XMLType(:1) where {LARGE_ROW};"""),
        (
            EXTENDED_BEGIN,
            f'{BLOCK}\'update "S"."T" set "BODY" = :BODY where {EXTENDED_ROW};\';\n',
        ),
    ],
)
def test_a_large_object_that_changes_makes_its_row_be_read_again(
    operation: int, redo: str, plain_build: PlainBuild
) -> None:
    ((_, op, its_key, value, unsent),) = in_both(plain_build, events_of, LARGE, (operation, redo))
    assert (op, its_key, unsent) == ("u", key(7), Unsent(("BODY",), again=True))
    assert value.startswith(RowEncoder(table_of(LARGE), 7, 8).head((7, "a", None), (7, "a", None)))


def test_a_value_with_apostrophes_in_the_text_of_an_extended_text() -> None:
    row = EXTENDED_ROW.replace("''a''", "''O''''B''")
    redo = f'{BLOCK}\'update "S"."T" set "BODY" = :BODY where {row};\';'
    ((*_, value, _),) = events_of(LARGE, (EXTENDED_BEGIN, redo))
    assert b"\x06O'B" in value


def test_a_locator_names_its_row_also_without_the_other_columns() -> None:
    redo = """DECLARE BEGIN select "BODY" into loc_c from "S"."T" where "ID" = '7' for update; END;"""
    ((_, op, its_key, _, unsent),) = events_of(LARGE, (LOB_LOCATOR, redo))
    assert (op, its_key, unsent) == ("u", key(7), Unsent(("NAME", "BODY"), again=True))


def test_a_new_row_may_lack_a_large_object(plain_build: PlainBuild) -> None:
    for values in (
        """("ID","NAME","BODY") values ('7','a',EMPTY_CLOB())""",
        """("ID","NAME") values ('7','a')""",
    ):
        ((_, op, _, value, unsent),) = in_both(
            plain_build, events_of, LARGE, (INSERT, f'insert into "S"."T"{values};')
        )
        assert (op, unsent and unsent.columns) == ("c", ("BODY",))
        assert b"\x02\x02\x08BODY\x00" in value


@pytest.mark.parametrize(
    "long", [OracleType("VARCHAR2", length=32_767), OracleType("NVARCHAR2", length=4000)]
)
@pytest.mark.parametrize("cell", ["'LM_EMPTY_STRING'", "UNISTR('LM_EMPTY_STRING')"])
def test_what_stands_for_an_extended_text_is_no_value(
    long: OracleType, cell: str, plain_build: PlainBuild
) -> None:
    columns = {"ID": ID, "NAME": TEXT, "BODY": long}
    row = f'"ID" = \'7\' and "NAME" = \'a\' and "BODY" = {cell}'
    made = [
        (INSERT, f"""insert into "S"."T"("ID","NAME","BODY") values ('7','a',{cell});"""),
        (UPDATE, f"""update "S"."T" set "BODY" = {cell} where {row};"""),
        (UPDATE, f"""update "S"."T" set "NAME" = 'b' where {row};"""),
        (UPDATE, f"""update "S"."T" set "BODY" = 'c' where {row};"""),
        (DELETE, f"""delete from "S"."T" where {row};"""),
    ]
    found = in_both(plain_build, events_of, columns, *made)
    assert [(op, unsent) for _, op, _, _, unsent in found] == [
        ("c", Unsent(("BODY",), again=True)),
        ("u", Unsent(("BODY",), again=True)),
        ("u", Unsent(("BODY",), again=False)),
        ("u", None),
        ("d", None),
    ]
    assert not any(b"LM_EMPTY" in value for *_, value, _ in found)


def test_the_same_text_in_a_short_column_is_a_value() -> None:
    redo = """insert into "S"."T"("ID","NAME","N") values ('7','LM_EMPTY_STRING','1');"""
    ((*_, value, unsent),) = events_of(PLAIN, (INSERT, redo))
    assert (value, unsent) == (event(PLAIN, "c", None, (7, "LM_EMPTY_STRING", "1")), None)


def test_a_small_large_object_is_taken_from_the_statement() -> None:
    redo = """insert into "S"."T"("ID","NAME","BODY") values ('7','a','small');"""
    ((*_, value, unsent),) = events_of(LARGE, (INSERT, redo))
    assert (value, unsent) == (event(LARGE, "c", None, (7, "a", "small")), None)


def test_a_binary_float_is_never_taken_from_a_statement() -> None:
    columns = {"ID": ID, "NAME": TEXT, "D": DOUBLE}
    row = "\"ID\" = '7' and \"NAME\" = 'a' and \"D\" = '0'"
    found = events_of(
        columns,
        (INSERT, """insert into "S"."T"("ID","NAME","D") values ('7','a','0');"""),
        (UPDATE, f"""update "S"."T" set "NAME" = 'b' where {row};"""),
        (UPDATE, f"""update "S"."T" set "D" = '0' where {row};"""),
        (UPDATE, f"""update "S"."T" set "D" = NULL where {row};"""),
        (DELETE, f"""delete from "S"."T" where {row};"""),
    )
    assert [(op, unsent) for _, op, _, _, unsent in found] == [
        ("c", Unsent(("D",), again=True)),
        ("u", Unsent(("D",), again=False)),
        ("u", Unsent(("D",), again=True)),
        ("u", None),
        ("d", None),
    ]


def test_a_changed_key_beside_a_value_that_is_not_there() -> None:
    redo = f"""update "S"."T" set "ID" = '8' where {LARGE_ROW};"""
    gone, made = events_of(LARGE, (UPDATE, redo))
    assert gone[4] == Unsent(("BODY",), key(8))
    assert made[4] == Unsent(("BODY",), key(7))


def test_a_placeholder_stands_for_what_is_not_there() -> None:
    redo = f"""update "S"."T" set "NAME" = 'b' where {LARGE_ROW};"""
    ((*_, value, _),) = events_of(LARGE, (UPDATE, redo), placeholder=b"__gone")
    assert value.count(b"\x02\x0c__gone") == 2


@pytest.mark.parametrize(
    ("redo", "reason"),
    [
        ("""insert into "S"."T"("ID","NAME") values ('7','a');""", "a statement lacks a column"),
        (
            """insert into "S"."T"("ID","NAME","M") values ('7','a','1');""",
            "a statement has an unknown column",
        ),
        ("""insert into "S"."T"("COL 1") values (HEXTORAW('c102'));""", "a statement has an unknown column"),
        (
            """insert into "S"."T"("ID","NAME","N","NAME") values ('7','a',NULL,'b');""",
            "a statement has a column twice",
        ),
        (f"""update "S"."T" set "N" = '1', "N" = '2' where {ROW};""", "a statement has a column twice"),
        (f"""delete from "S"."T" where {ROW} and "ID" = '8';""", "a statement has a column twice"),
        ("""delete from "S"."T";""", "a statement lacks a column"),
        ("""update "S"."T" set "N" = '1' where "ID" = '7';""", "a statement lacks a column"),
        ("""select * from "S"."T";""", "no insert, update or delete"),
    ],
)
def test_a_statement_that_is_not_of_this_shape_is_refused(
    redo: str, reason: str, plain_build: PlainBuild
) -> None:
    operation = {"i": INSERT, "u": UPDATE}.get(redo[0], DELETE)
    assert in_both(plain_build, refused, PLAIN, operation, redo) == reason


def test_a_statement_that_does_what_its_row_does_not_say_is_refused() -> None:
    redo = f"""delete from "S"."T" where {ROW};"""
    for operation in (INSERT, UPDATE, LOB_LOCATOR):
        assert refused(PLAIN, operation, redo) == "the statement does not do what its row says"
    text = """insert into "S"."T"("ID","NAME","N") values ('7','a',NULL);"""
    assert refused(PLAIN, LOB_LOCATOR, text) == "the statement does not do what its row says"
    update = f"""update "S"."T" set "N" = '1' where {ROW};"""
    for operation in (INSERT, DELETE):
        assert refused(PLAIN, operation, update) == "the statement does not do what its row says"


def test_a_decoder_reads_on_behind_a_statement_that_it_refused() -> None:
    decoder = decoder_of(PLAIN)
    for redo in ("""insert into "S"."T"("ID","NAME","M") values ('7','a','1');""", "nonsense"):
        with pytest.raises((UnknownColumnsError, UnknownRedoError)):
            changes(decoder, (INSERT, redo))
    (found,) = changes(decoder, (DELETE, f"""delete from "S"."T" where {ROW};"""))
    assert found[3] == event(PLAIN, "d", (7, "a", None), None)


def test_a_table_without_a_key_needs_all_of_a_row() -> None:
    decoder = decoder_of(LARGE, ())
    for operation, redo in (
        (UPDATE, f"""update "S"."T" set "NAME" = 'b' where {LARGE_ROW};"""),
        (DELETE, f"""delete from "S"."T" where {LARGE_ROW};"""),
        (INSERT, """insert into "S"."T"("ID","NAME","BODY") values ('7','a',EMPTY_CLOB());"""),
    ):
        with pytest.raises(OperatorNeeded, match="BODY") as caught:
            changes(decoder, (operation, redo))
        assert caught.value.code == "oracle.key_needed"
    assert [
        change[2] for change in changes(decoder_of(PLAIN, ()), (DELETE, f'delete from "S"."T" where {ROW}'))
    ] == [None]


def test_only_changed_values_make_an_event_but_an_unknown_value_may_have_changed() -> None:
    same = f"""update "S"."T" set "NAME" = 'a' where {LARGE_ROW};"""
    assert events_of(LARGE, (UPDATE, same), changed_only=True) == []
    unknown = f"""update "S"."T" set "BODY" = EMPTY_CLOB() where {LARGE_ROW};"""
    found = events_of(LARGE, (UPDATE, same), (UPDATE, unknown), (UPDATE, same), changed_only=True)
    assert [unsent for *_, unsent in found] == [Unsent(("BODY",), again=True)]


def test_columns_that_are_left_out_or_masked() -> None:
    source = table_of(PLAIN)
    rules = ColumnRules.of({})
    shape = Projection(project(source, rules).source, project(source, rules).table, (Plain.KEEP,) * 3)
    hidden = Projection(
        shape.source,
        table_of({"ID": ID, "NAME": TEXT}),
        (Plain.KEEP, StarsMask(3), Plain.DROP),
    )
    decoder = decoder_of(PLAIN, shape=hidden)
    (made,) = changes(
        decoder, (INSERT, """insert into "S"."T"("ID","NAME","N") values ('7',UNISTR('\\010D'),'1');""")
    )
    assert made[3] == event({"ID": ID, "NAME": TEXT}, "c", None, (7, "***"))
    assert decoder.read(("7", "secret")) == (key(7), made[3][: made[3].index(b"<source>")])


@pytest.mark.parametrize(
    "cell",
    ["'12345'", "'1.5'", "'x'", "''", "'-'", "TO_DATE('2026-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS')"],
)
def test_a_value_that_does_not_fit_names_its_column_and_never_the_value(
    cell: str, plain_build: PlainBuild
) -> None:
    columns = {"ID": ID, "V": OracleType("NUMBER", precision=4, scale=0)}
    redo = f"""insert into "S"."T"("ID","V") values ('7',{cell});"""
    assert in_both(plain_build, refused, columns, INSERT, redo) == "oracle.value_unfit"
    with pytest.raises(OperatorNeeded) as caught:
        events_of(columns, (INSERT, redo))
    assert "column V of DB.S.T" in str(caught.value)
    assert "12345" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize(
    ("sql_type", "cell"),
    [
        (OracleType("NUMBER", precision=5, scale=2), "'1234'"),
        (OracleType("NUMBER", precision=5, scale=2), "'1.234'"),
        (OracleType("NUMBER", precision=5, scale=2), "'1,5'"),
        (OracleType("NUMBER", precision=5, scale=2), "'.'"),
        (OracleType("NUMBER", precision=38, scale=0), "'1E+038'"),
        (OracleType("NUMBER"), "'NaN'"),
        (OracleType("NUMBER"), "'1E+999999999'"),
        (OracleType("NUMBER"), "'1.2.3'"),
        (OracleType("NUMBER"), "'.5.'"),
        (OracleType("RAW", length=4), "HEXTORAW('0')"),
        (OracleType("RAW", length=4), "HEXTORAW('0g')"),
        (OracleType("RAW", length=4), "'00'"),
        (OracleType("DATE"), "TO_DATE('2026-02-29 00:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
        (OracleType("DATE"), "TO_DATE('1900-02-29 00:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
        (OracleType("DATE"), "TO_DATE('2026-01-02 24:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
        (OracleType("DATE"), "TO_TIMESTAMP_TZ('2026-01-02 03:04:05 +01:00')"),
        (OracleType("TIMESTAMP(6)"), "TO_TIMESTAMP('2026-01-02 03:04:05 +01:00')"),
        (OracleType("TIMESTAMP(6)"), "TO_TIMESTAMP('2026-01-02 03:04:05.0000000001')"),
        (OracleType("TIMESTAMP(6) WITH TIME ZONE"), "TO_TIMESTAMP_TZ('2026-01-02 03:04:05')"),
        (OracleType("TIMESTAMP(6) WITH TIME ZONE"), "TO_TIMESTAMP_TZ('2026-01-02 03:04:05 +16:00')"),
        (OracleType("VARCHAR2", length=4), "1"),
        (OracleType("VARCHAR2", length=4), r"UNISTR('\d83d')"),
        (OracleType("INTERVAL YEAR(2) TO MONTH"), "TO_YMINTERVAL('+01-12')"),
        (OracleType("INTERVAL DAY(2) TO SECOND(6)"), "TO_DSINTERVAL('+01 24:00:00')"),
    ],
)
def test_a_cell_that_its_type_does_not_write_is_refused(
    sql_type: OracleType, cell: str, plain_build: PlainBuild
) -> None:
    redo = f"""insert into "S"."T"("ID","V") values ('7',{cell});"""
    assert in_both(plain_build, refused, {"ID": ID, "V": sql_type}, INSERT, redo) == "oracle.value_unfit"


def test_a_row_that_does_not_fit_is_settled_by_its_policy() -> None:
    columns = {"ID": ID, "V": OracleType("NUMBER", precision=4, scale=0)}
    table = table_of(columns)
    shape = Projection(table, table, (Plain.KEEP,) * 2, (OnUnfit.STOP, OnUnfit.NULL))
    decoder = decoder_of(columns, shape=shape)
    (made,) = changes(decoder, (INSERT, """insert into "S"."T"("ID","V") values ('7','12345');"""))
    assert made[3] == event(columns, "c", None, (7, None))
    assert decoder.misfit is not None
    assert [column.name for column in decoder.misfit.misfit.columns] == ["V"]
    (made,) = changes(decoder, (INSERT, """insert into "S"."T"("ID","V") values ('7','1');"""))
    assert decoder.misfit is None


def test_a_chunk_with_another_number_of_columns_is_refused() -> None:
    with pytest.raises(UnknownColumnsError):
        decoder_of(PLAIN).read(("7", "a"))


def test_a_row_of_a_thousand_columns(plain_build: PlainBuild) -> None:
    assert in_both(plain_build, wide_row) == 1000


def test_a_row_of_numbers_that_are_longer_than_their_statement(plain_build: PlainBuild) -> None:
    in_both(plain_build, long_numbers)


def long_numbers() -> None:
    columns = {"ID": ID} | {f"N{number}": NUMBER for number in range(60)}
    names = ",".join(f'"{name}"' for name in columns)
    redo = f"""insert into "S"."T"({names}) values ('7'{",'1E+125'" * 60});"""
    (made,) = events_of(columns, (INSERT, redo))
    assert made[3] == event(columns, "c", None, (7, *["1" + "0" * 125] * 60))


def wide_row() -> int:
    columns = {"ID": ID} | {f"C{number}": TEXT for number in range(999)}
    names = ",".join(f'"{name}"' for name in columns)
    values = ",".join(f"'{number}'" for number in range(1000))
    (made,) = events_of(columns, (INSERT, f'insert into "S"."T"({names}) values ({values});'))
    expected = event(columns, "c", None, (0, *(str(number) for number in range(1, 1000))))
    return len(columns) if made[3] == expected else 0


def test_an_object_of_the_driver_is_no_value() -> None:
    """A locator's own text would be published as if the row had it."""
    with pytest.raises(TypeError, match="an object of the driver, and no value"):
        decoder_of({"ID": ID, "V": CLOB}).read(("7", object()))
