"""SQL_REDO: what was printed is read, in both builds; any other bytes are read as patterns read them.

The printer is this file's own.  The patterns (`tests/fuzz/oracle_redo.py`) share no line with the parser.
"""

import datetime as dt
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fixtures.plain_build import PlainBuild
from tests.fuzz.oracle_redo import FUNCTIONS, SIGNS, Redo, compiled_redo, oracle_redo, pattern_redo
from tests.fuzz.targets import hold
from tests.unit.corpus.cases import cases
from wrackline.producers.sources.oracle.redo.kinds import RedoCell, RedoKind, RedoOperation
from wrackline.producers.sources.oracle.redo.statement import RedoStatement
from wrackline.producers.sources.oracle.redo.values import RedoMoment, value_of

SOME = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
CORPUS = [case.values[0]["redo"].encode() for case in cases("oracle", "redo")]
LETTERS = st.characters(codec="utf-8")
TEXTS = st.text(LETTERS, max_size=20) | st.text("',|()= ;\"\\-aé\n", max_size=12)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"'), min_size=1, max_size=12)
CALLS = {kind: name for name, kind in FUNCTIONS.items()}
MARKS = {kind: sign for sign, kind in SIGNS.items()}


@dataclass(frozen=True)
class Printed:
    """A value as it is printed, and the cell that must be found."""

    text: bytes
    kind: RedoKind
    inner: bytes


def quoted(text: str) -> Printed:
    inner = text.replace("'", "''").encode()
    return Printed(b"'" + inner + b"'", RedoKind.QUOTED if "'" in text else RedoKind.TEXT, inner)


def unistr(text: str) -> Printed:
    inner = quoted(text).inner
    return Printed(b"UNISTR('" + inner + b"')", RedoKind.UNISTR, inner)


def called(kind: RedoKind, text: str) -> Printed:
    inner = quoted(text).inner
    return Printed(CALLS[kind] + b"('" + inner + b"')", kind, inner)


def dated(text: str, sign: str) -> Printed:
    inner = quoted(text).inner
    mask = f", '{sign}YYYY-MM-DD HH24:MI:SS')".encode()
    return Printed(b"TO_DATE('" + inner + b"'" + mask, RedoKind.DATE, inner)


def has_national(parts: list[Printed]) -> bool:
    return any(part.kind is RedoKind.UNISTR for part in parts)


def chained(parts: list[Printed]) -> Printed:
    text = b" || ".join(part.text for part in parts)
    return Printed(text, RedoKind.CHAIN, text)


NUMBERS = st.from_regex(r"[-+]?([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})(E[-+]?[0-9]{1,3})?", fullmatch=True)
PARTS = TEXTS.map(quoted) | TEXTS.map(unistr)
VALUES = st.one_of(
    PARTS,
    NUMBERS.map(lambda text: Printed(text.encode(), RedoKind.NUMBER, text.encode())),
    st.sampled_from(sorted(MARKS)).map(lambda kind: Printed(MARKS[kind], kind, b"")),
    st.builds(called, st.sampled_from(sorted(CALLS.keys() - {RedoKind.DATE})), TEXTS),
    st.builds(dated, TEXTS, st.sampled_from(("", "S"))),
    st.lists(PARTS, min_size=2, max_size=3).filter(has_national).map(chained),
)


@st.composite
def printed(draw: st.DrawFn) -> tuple[bytes, Redo]:
    """A statement, and what must be read of it."""
    operation = draw(st.sampled_from(RedoOperation))
    owner, table = draw(NAMES).encode(), draw(NAMES).encode()
    cells = st.lists(
        st.tuples(NAMES.map(str.encode), VALUES), min_size=1, max_size=draw(st.sampled_from((3, 90)))
    )
    changes = draw(cells) if operation is not RedoOperation.DELETE else []
    conditions = draw(cells | st.just([])) if operation is not RedoOperation.INSERT else []
    row_id = (
        draw(st.none() | st.just(b"AAAB12AAEAAAC34AAB")) if operation is not RedoOperation.INSERT else None
    )
    letter = draw(st.sampled_from((b"", b"a"))) if operation is not RedoOperation.INSERT else b""
    prefix = letter and letter + b"."
    text = b'"' + owner + b'"."' + table + b'"' + (b" " + letter if letter else b"")
    if operation is RedoOperation.INSERT:
        names = b",".join(b'"' + name + b'"' for name, _ in changes)
        text += b"(" + names + b") values (" + b",".join(value.text for _, value in changes) + b")"
    elif operation is RedoOperation.UPDATE:
        text += b" set " + b", ".join(prefix + b'"' + name + b'" = ' + value.text for name, value in changes)
    said = [
        prefix + b'"' + name + (b'" IS NULL' if value.kind is RedoKind.NULL else b'" = ' + value.text)
        for name, value in conditions
    ]
    if row_id:
        said.append(prefix + b"ROWID = '" + row_id + b"'")
    text += b" where " + b" and ".join(said) if said else b""
    begin = {RedoOperation.INSERT: b"insert into ", RedoOperation.UPDATE: b"update "}
    first, last = (
        [RedoCell(name, value.kind, value.inner) for name, value in one] for one in (changes, conditions)
    )
    return (
        begin.get(operation, b"delete from ") + text + draw(st.sampled_from((b"", b";"))),
        Redo(operation, owner, table, first, last, row_id),
    )


def read_all(texts: list[bytes]) -> list[Redo | None]:
    """Read all by one object, as a stream does."""
    statement = RedoStatement()
    return [compiled_redo(statement, text) for text in texts]


@SOME
@given(pairs=st.lists(printed(), min_size=1, max_size=4))
def test_what_was_printed_is_read_in_both_builds(
    plain_build: PlainBuild, pairs: list[tuple[bytes, Redo]]
) -> None:
    texts = [text for text, _ in pairs]
    assert read_all(texts) == plain_build.call(read_all, texts) == [redo for _, redo in pairs]


@SOME
@given(pair=printed(), data=st.data())
def test_a_statement_that_was_changed_is_read_as_patterns_read_it(
    plain_build: PlainBuild, pair: tuple[bytes, Redo], data: st.DataObject
) -> None:
    text = pair[0]
    at = data.draw(st.integers(0, len(text)))
    gone = data.draw(st.integers(0, 3))
    new = data.draw(
        st.sampled_from((b"", b"'", b"''", b'"', b",", b" ", b"(", b")", b"a", b"\0", b"1", b"||"))
    )
    text = text[:at] + new + text[at + gone :]
    assert read_all([text]) == plain_build.call(read_all, [text]) == [pattern_redo(text)]


@SOME
@given(text=st.binary(max_size=60) | st.sampled_from(CORPUS))
@example(text=b"")
@example(text=b"\0")
@example(text=b"insert into")
def test_any_bytes_are_read_alike_in_both_builds(plain_build: PlainBuild, text: bytes) -> None:
    hold("oracle-redo", text)
    plain_build.call(oracle_redo, text)
    assert read_all([text]) == plain_build.call(read_all, [text]) == [pattern_redo(text)]


@pytest.mark.parametrize("case", cases("oracle", "redo"))
def test_a_statement_that_ends_early_is_never_more_than_patterns_see(case: dict[str, str]) -> None:
    """The bytes of a statement end at each place; none is read behind its end."""
    text = case["redo"].encode()
    ends = [text[:size] for size in range(len(text))]
    assert read_all(ends) == [pattern_redo(end) for end in ends]


@SOME
@given(text=TEXTS)
def test_a_text_is_read_as_it_was_before_it_was_printed(text: str) -> None:
    units = text.encode("utf-16-be")
    escaped = "".join(f"\\{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))
    plain = text.replace("\\", "\\\\")
    for one in (quoted(text), unistr(escaped), unistr(plain), chained([unistr(plain), quoted("")])):
        assert value_of(one.kind, one.inner) == text
    assert value_of(RedoKind.RAW, text.encode().hex().encode()) == text.encode()


ZONES = st.integers(-840, 840)


@SOME
@given(moment=st.datetimes(), zone=ZONES)
def test_a_moment_is_read_as_it_was_before_it_was_printed(moment: dt.datetime, zone: int) -> None:
    text = f"{moment.year:04}-{moment:%m-%d %H:%M:%S}"
    micros = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001 - a local one
    whole = micros - moment.microsecond
    assert value_of(RedoKind.DATE, text.encode()) == value_of(RedoKind.DATE, f" {text}".encode()) == whole
    assert value_of(RedoKind.TIMESTAMP, f"{text}.".encode()) == whole
    exact = f"{text}.{moment.microsecond:06}"
    assert value_of(RedoKind.TIMESTAMP, f"{exact}789".encode()) == micros
    offset = f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}"
    found = value_of(RedoKind.ZONED, f"{exact} {offset}".encode())
    assert found == RedoMoment(micros, zone)
    assert isinstance(found, RedoMoment)
    assert found.instant == micros - zone * 60_000_000


@SOME
@given(micros=st.integers(-(10**15), 10**15), months=st.integers(-11_999_999, 11_999_999))
def test_an_interval_is_read_as_it_was_before_it_was_printed(micros: int, months: int) -> None:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, second = divmod(seconds, 60)
    text = f"{'-' if micros < 0 else '+'}{minutes // 1440:05} {minutes % 1440 // 60:02}:{minutes % 60:02}"
    assert value_of(RedoKind.DAYS, f"{text}:{second:02}.{fraction:06}".encode()) == micros
    text = f"{'-' if months < 0 else '+'}{abs(months) // 12:04}-{abs(months) % 12:02}"
    assert value_of(RedoKind.MONTHS, text.encode()) == months
