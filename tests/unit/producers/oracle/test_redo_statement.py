"""SQL_REDO: texts of other projects' tests are read as the corpus says, and what is not known is refused."""

import pytest

from tests.fixtures.plain_build import PlainBuild
from tests.unit.corpus.cases import CANARY, Case, cases
from wrackline.producers.sources.oracle.redo.kinds import RedoCell, RedoKind, RedoOperation, UnknownRedoError
from wrackline.producers.sources.oracle.redo.statement import RedoStatement
from wrackline.producers.sources.oracle.redo.values import value_of

INSERT = 'insert into "S"."T"("A") values (%s)'
WHERE = 'delete from "S"."T" where %s'


def as_listed(cells: list[RedoCell]) -> list[list[str]]:
    return [[cell.column.decode(), cell.kind.name.lower(), cell.text.decode()] for cell in cells]


def answer(text: bytes) -> Case:
    """What the corpus says of a statement."""
    statement = RedoStatement()
    try:
        operation = RedoOperation(statement.parse(text))
    except UnknownRedoError as exc:
        return {"refused": exc.reason, "at": exc.at}
    return {
        "reads": {
            "operation": operation.name.lower(),
            "table": f"{statement.owner.decode()}.{statement.table.decode()}",
            "changes": as_listed(statement.changes),
            "conditions": as_listed(statement.conditions),
            "row_id": statement.row_id and statement.row_id.decode(),
        }
    }


def refusal(text: str | bytes) -> str:
    with pytest.raises(UnknownRedoError) as caught:
        RedoStatement().parse(text.encode() if isinstance(text, str) else text)
    return caught.value.reason


@pytest.mark.parametrize("case", cases("oracle", "redo"))
def test_a_statement_of_others_is_read_as_the_corpus_says(case: Case, plain_build: PlainBuild) -> None:
    said = {key: value for key, value in case.items() if key not in {"name", "from"}}
    text = case["redo"].encode()
    assert said.pop("redo")
    assert answer(text) == said
    assert plain_build.call(answer, text) == said


def test_an_apostrophe_that_is_not_written_twice_is_refused() -> None:
    """DBZ-2070, DBZ-8034, DBZ-8200, DBZ-8869, DBZ-9191, DBZ-9366: others look for its likely end."""
    update = """update "S"."T" set "D" = '%s', "N" = 'b' where "K" = '1'"""
    for text in ("l'eau", "attivita', del", "a', \"N\" = b'c", "'", "a'", "'a'", "d''une d'un"):
        assert refusal(update % text)
    assert refusal(INSERT % "'a'),('b'")
    assert refusal("""insert into "S"."T"("A","B") values ('a'',''b')""") == "there is no ,"


def test_apostrophes_bars_and_commas_belong_to_a_text() -> None:
    """DBZ-3413, DBZ-4891, DBZ-5521, DBZ-6975, DBZ-7006, DBZ-9132."""
    statement = RedoStatement()
    for text in ("it's", "'", "''", "a','b", "I||am", "a) values (", " and ", "-- ;", "\\"):
        written = text.replace("'", "''")
        statement.parse((INSERT % f"'{written}'").encode())
        [cell] = statement.changes
        assert value_of(cell.kind, cell.text) == text
        statement.parse((INSERT % "UNISTR('%s')" % written.replace("\\", "\\\\")).encode())
        [cell] = statement.changes
        assert value_of(cell.kind, cell.text) == text


def test_an_alias_is_read_and_then_stands_before_each_column() -> None:
    """DBZ-4194."""
    assert refusal("""update "S"."T" a set "A" = '1'""") == "no alias before a column"
    assert refusal("""update "S"."T" set a."A" = '1'""") == "no name"
    assert refusal("""delete from "S"."T" a where b."A" = '1'""") == "no alias before a column"
    assert refusal("""delete from "S"."T" a where a."A" = '1' and "B" = '1'""") == "no alias before a column"
    for end in ("", ";", " ;"):
        assert RedoStatement().parse(f'delete from "S"."T" a{end}'.encode()) == RedoOperation.DELETE
    assert refusal("""delete from "S"."T" ab where ab."A" = '1'""") == "more than a statement"


def test_what_a_statement_does_not_have_is_neither_nothing_nor_a_value() -> None:
    """DBZ-9521: a large object was left out, and readers took its column for one that has no value."""
    statement = RedoStatement()
    statement.parse(b"""insert into "S"."T"("A","B","C") values (Unsupported Type,XMLType(:1),NULL)""")
    kinds = [cell.kind for cell in statement.changes]
    assert kinds == [RedoKind.UNSUPPORTED, RedoKind.BOUND, RedoKind.NULL]
    for kind in kinds[:2]:
        with pytest.raises(UnknownRedoError, match="does not have the value"):
            value_of(kind, b"")


def test_a_document_of_json_is_in_oracles_own_form_which_is_no_value() -> None:
    """dbz#1884: LogMiner writes it behind a comment, where the table is one for GoldenGate."""
    statement = RedoStatement()
    for document in ("EMPTY_BLOB()", "HEXTORAW('ff4a5a01')", "HEXTORAW('')"):
        statement.parse((INSERT % f"/* JSON */ {document}").encode())
        assert statement.changes == [RedoCell(b"A", RedoKind.UNSUPPORTED, b"")]
    statement.parse((WHERE % "\"A\" = /* JSON */ HEXTORAW('ff') and \"B\" = '1'").encode())
    assert [cell.kind for cell in statement.conditions] == [RedoKind.UNSUPPORTED, RedoKind.TEXT]


def test_parts_of_a_text_are_joined_with_any_blanks_around_the_bars() -> None:
    """DBZ-3892."""
    statement = RedoStatement()
    for bars in ("||", " ||", "|| ", " || ", "  ||  "):
        statement.parse((INSERT % bars.join((r"UNISTR('\0434\0430')", r"UNISTR('\043D')"))).encode())
        [cell] = statement.changes
        assert value_of(cell.kind, cell.text) == "дан"


def test_a_write_into_a_large_object_is_no_change_of_a_row() -> None:
    """redpanda#4574: a write may come without the statement that says whose it is."""
    block = "DECLARE\n loc_c CLOB;\nBEGIN\n buf_c := 'a';\n dbms_lob.write(loc_c, 1, 1, buf_c);\nEND;"
    assert refusal(block) == "no block that is known"
    assert refusal("dbms_lob.trim(loc_c, 2)") == "there is no delete from"


def test_bytes_that_are_no_text_are_refused_with_their_value() -> None:
    """dbz#1798, redpanda#4586: a wrong character set made other letters of a value."""
    statement = RedoStatement()
    statement.parse(b"""insert into "S"."T"("A") values ('caf\xe9')""")
    [cell] = statement.changes
    with pytest.raises(UnknownRedoError, match="not UTF-8"):
        value_of(cell.kind, cell.text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no insert, update or delete"),
        ("Insert into", "no insert, update or delete"),
        ("insert", "there is no insert into"),
        ("insert into", "there is no "),
        ('insert into "S"', "there is no ."),
        ('insert into S."T"("A") values (1)', "no name"),
        ('insert into ""."T"("A") values (1)', "a name is empty or has no end"),
        ('insert into "S"."T', "a name is empty or has no end"),
        ('insert into "S"."T"() values ()', "no name"),
        ('insert into "S"."T"("A") value (1)', "there is no values"),
        ('insert into "S"."T"("A","B") values (1)', "there is no ,"),
        ('insert into "S"."T"("A") values (1,2)', "there is no )"),
        ('insert into "S"."T"("A") values (1),(2)', "more than a statement"),
        ('insert into "S"."T"("A") values (1);;', "more than a statement"),
        ('update "S"."T" set ', "no name"),
        ('update "S"."T"', "there is no set"),
        ('update "S"."T" set "A" IS NULL', "there is no ="),
        ('update "S"."T" set "A"."B" = 1', "there is no ="),
        ('update "S"."T" set "A" = 1 or "B" = 2', "more than a statement"),
        ('delete "S"."T"', "there is no delete from"),
        (WHERE % '"A" > 1', "there is no IS NULL"),
        (WHERE % '"A" is null', "there is no IS NULL"),
        (WHERE % '"A" = 1 or "B" = 2', "more than a statement"),
        (WHERE % '"A" = 1 and ', "no name"),
        (WHERE % "ROWID = 'A' and ROWID = 'B'", "a second ROWID"),
        (WHERE % "ROWID = ''", "no row has such a ROWID"),
        (WHERE % "ROWID = 'A''B'", "no row has such a ROWID"),
        (WHERE % "ROWID IS NULL", "there is no ="),
        ('delete from "S"."T"where "A" = 1', "more than a statement"),
        ('update "S"."T"set "A" = 1', "there is no set"),
        ('update "S"."T" set "A" = NULLwhere "B" = 1', "more than a statement"),
        (WHERE % '"A" = 1and "B" = 2', "more than a statement"),
        (WHERE % '"A" = \'x\'and "B" = 2', "more than a statement"),
        (INSERT % "null", "no value that is known"),
        (INSERT % "SYSDATE", "no value that is known"),
        (INSERT % "TRUE", "no value that is known"),
        (INSERT % "N'a'", "there is no NULL"),
        (INSERT % "BFILENAME('D','f')", "no value that is known"),
        (INSERT % "EMPTY_NCLOB()", "no value that is known"),
        (INSERT % "Unsupported", "no value that is known"),
        (INSERT % "HEXTORAW(NULL)", "no text"),
        (INSERT % "HEXTORAW('0a','0b')", "there is no )"),
        (INSERT % "HEXTORAW('0a') || HEXTORAW('0b')", "there is no )"),
        (INSERT % "'a' || NULL", "no text"),
        (INSERT % "'a' ||", "no text"),
        (INSERT % "'a' || 'b'", "|| beside a text that is not national"),  # or one value: a' || 'b
        (INSERT % "'UNISTR(' || ')'", "|| beside a text that is not national"),
        (INSERT % "TO_DATE('2020-01-01 00:00:00')", "there is no ,"),
        (INSERT % "TO_DATE('01-JAN-20', 'DD-MON-RR')", "there is no YYYY-MM-DD HH24:MI:SS')"),
        (INSERT % "TO_TIMESTAMP('2020-01-01 00:00:00', 'YYYY')", "there is no )"),
        (INSERT % "XMLTYPE(:2)", "there is no :1)"),
        (INSERT % "XMLTYPE('<a/>', 1)", "there is no )"),
        (INSERT % "/* json */ EMPTY_BLOB()", "there is no /* JSON */"),
        (INSERT % "/* JSON */ NULL", "there is no HEXTORAW("),
        (INSERT % "/* JSON */ HEXTORAW(1)", "no text"),
        (INSERT % "/* JSON */ HEXTORAW('ff'", "there is no )"),
        (INSERT % ".", "a number has no digits"),
        (INSERT % "-", "a number has no digits"),
        (INSERT % "1E", "an exponent has no digits"),
        (INSERT % "1.2.3", "there is no )"),
        (INSERT % "0x10", "there is no )"),
        (INSERT % "'a", "a text has no end"),
        (INSERT % "TO_TIMESTAMP('", "a text has no end"),
    ],
)
def test_what_is_not_known_is_refused_with_its_reason(
    text: str, reason: str, plain_build: PlainBuild
) -> None:
    assert refusal(text) == reason
    assert plain_build.call(refusal, text) == reason


def test_a_date_has_the_format_of_our_session_with_or_without_a_sign() -> None:
    statement = RedoStatement()
    for date in ("TO_DATE('%s','YYYY-MM-DD HH24:MI:SS')", "TO_DATE(' %s', 'SYYYY-MM-DD HH24:MI:SS')"):
        statement.parse((INSERT % date % "1970-01-01 00:00:01").encode())
        [cell] = statement.changes
        assert value_of(cell.kind, cell.text) == 1_000_000


def test_a_refusal_leaves_nothing_and_shows_no_value() -> None:
    statement = RedoStatement()
    statement.parse(b"""update "S"."T" set "A" = '1' where "B" = '2' and ROWID = 'AAAB'""")
    with pytest.raises(UnknownRedoError) as caught:
        statement.parse(f"""update "S"."T" set "A" = '{CANARY}' where "B" = '{CANARY}' or""".encode())
    assert (statement.operation, statement.owner, statement.table) == (0, b"", b"")
    assert (statement.changes, statement.conditions, statement.row_id) == ([], [], None)
    assert CANARY not in f"{caught.value} {caught.value.args}"


def test_a_row_of_a_thousand_columns_is_read_by_the_memory_of_a_small_one() -> None:
    statement = RedoStatement()
    for count in (1, 64, 65, 1000, 2):
        names = ",".join(f'"C{at}"' for at in range(count))
        text = f'insert into "S"."T"({names}) values ({",".join(map(str, range(count)))})'
        assert statement.parse(text.encode()) == RedoOperation.INSERT
        assert [(cell.column, cell.text) for cell in statement.changes] == [
            (f"C{at}".encode(), str(at).encode()) for at in range(count)
        ]


def test_a_selected_column_has_the_alias_of_its_table() -> None:
    begin = 'XML DOC BEGIN: select %s."C" from "S"."T" %s where %s."ID" = \'1\''
    assert answer((begin % ("a", "a", "a")).encode())["reads"]["changes"] == [["C", "bound", ""]]
    assert refusal(begin % ("a", "b", "b")) == "another alias before a column"
    assert refusal(begin % ("a", "a", "b")) == "no alias before a column"
