"""Any value of any type becomes the same bytes, in whichever of its forms LogMiner writes it."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.producers.oracle.rows.decoding import ID, of_one_cell, table_of
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.schemas.tables.types import Kind

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as Oracle's DATE it has no zone
MICROSECOND = timedelta(microseconds=1)
FORMAT = "SYYYY-MM-DD HH24:MI:SS"


def is_same(sql_type: OracleType, cell: str, field: object, value: object, instants: Kind) -> bool:
    """Whether the log, a chunk and the encoder of Python values agree."""
    key, event, read_key, head = of_one_cell(sql_type, cell, field, instants, as_text=False)
    table = table_of({"ID": ID, "V": sql_type}, instants=instants)
    made = RowEncoder(table, 7, 8).head(None, (7, value))
    _, event_text, _, text = of_one_cell(sql_type, cell, field, instants, as_text=True)
    return key == read_key and head == made and event.startswith(made) and event_text.startswith(text)


def exact(units: int, scale: int) -> Decimal:
    """A number of any length: arithmetic would round it to the digits of its context."""
    return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


def written(number: Decimal) -> str:
    """As TM9 writes it: no zero before the point."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").removesuffix(".")
    text = text.replace("0.", ".", 1) if text.removeprefix("-").startswith("0.") else text
    return "0" if text in {"-0", "-", ""} else text


@st.composite
def numbers(draw: st.DrawFn) -> tuple[OracleType, Decimal]:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(-10, 38))
    units = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    return OracleType("NUMBER", precision=precision, scale=scale), exact(units, scale)


@given(numbers(), st.sampled_from(["plain", "quoted", "exponent", "zeros"]))
def test_a_number_with_precision(of: tuple[OracleType, Decimal], form: str) -> None:
    sql_type, number = of
    text = written(number)
    cell = {
        "plain": text,
        "quoted": f"'{text}'",
        "exponent": f"'{number:E}'",
        "zeros": f"'{number:f}'",
    }[form]
    kind = table_of({"V": sql_type}, ()).columns[0].type.kind
    whole = kind in {Kind.INT16, Kind.INT32, Kind.INT64}
    value: Any = int(number) if whole else number
    if kind is Kind.NUMERIC_TEXT:
        value = _long_form(text)
    assert is_same(sql_type, cell, text, value, Kind.ZONED_TIMESTAMP)


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-125, 130), st.booleans())
def test_a_number_without_precision(units: int, scale: int, exponent: bool) -> None:  # noqa: FBT001 - Hypothesis passes it
    number = exact(units, scale)
    text = written(number)
    cell = f"'{number:E}'" if exponent else f"'{text}'"
    value = _long_form(text)
    assert is_same(OracleType("NUMBER"), cell, text, value, Kind.ZONED_TIMESTAMP)


def _long_form(text: str) -> str:
    return text.replace(".", "0.", 1) if text.removeprefix("-").startswith(".") else text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(0, 3), st.data())
def test_a_text(text: str, pieces: int, data: st.DataObject) -> None:
    parts, rest = [], text
    for _ in range(pieces):
        cut = data.draw(st.integers(0, len(rest)))
        parts.append(rest[:cut])
        rest = rest[cut:]
    last = _unistr if parts else data.draw(st.sampled_from([_quoted, _unistr]))  # one part is national
    cell = "||".join([*(data.draw(st.sampled_from([_quoted, _unistr]))(part) for part in parts), last(rest)])
    for name in ("VARCHAR2", "NVARCHAR2", "CLOB"):
        assert is_same(OracleType(name, length=40), cell, text, text, Kind.ZONED_TIMESTAMP)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _unistr(text: str) -> str:
    units = text.encode("utf-16-be")
    escaped = "".join(
        chr(unit) if 32 <= unit < 127 and chr(unit) not in "\\'" else f"\\{unit:04X}"
        for unit in (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
    )
    return f"UNISTR('{escaped}')"


@given(st.binary(min_size=1), st.booleans())
def test_bytes(raw: bytes, upper: bool) -> None:  # noqa: FBT001 - Hypothesis passes it
    digits = raw.hex().upper() if upper else raw.hex()
    for name in ("RAW", "BLOB"):
        assert is_same(OracleType(name), f"HEXTORAW('{digits}')", raw, raw, Kind.ZONED_TIMESTAMP)


@given(st.datetimes(), st.sampled_from(["", " "]))
def test_a_date(moment: datetime, sign: str) -> None:
    moment = moment.replace(microsecond=0)
    text = moment.isoformat(" ")
    cell = f"TO_DATE('{sign}{text}', '{FORMAT}')"
    value = (moment - EPOCH) // MICROSECOND
    assert is_same(OracleType("DATE"), cell, f" {text}", value, Kind.ZONED_TIMESTAMP)


@given(st.datetimes(), st.integers(6, 9), st.integers(-900, 900))
def test_a_timestamp(moment: datetime, places: int, offset: int) -> None:
    text = f"{moment:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + f".{moment.microsecond:06}"
    micros = (moment - EPOCH) // MICROSECOND
    cell, field = f"{text:0<{20 + places}}", f" {text}000"
    assert is_same(OracleType("TIMESTAMP(6)"), f"TO_TIMESTAMP('{cell}')", field, micros, Kind.ZONED_TIMESTAMP)
    zone = f" {'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    zoned = OracleType("TIMESTAMP(6) WITH TIME ZONE")
    call = f"TO_TIMESTAMP_TZ(' {cell}{zone}')"
    instant = micros - offset * 60_000_000
    assert is_same(zoned, call, f"{field}{zone}", instant, Kind.INSTANT_MICROS)
    try:
        said = (moment - timedelta(minutes=offset)).isoformat()
    except OverflowError:  # it is in another year than 1 to 9999
        return
    said = (said.rstrip("0").rstrip(".") if "." in said else said) + "Z"
    assert is_same(zoned, call, f"{field}{zone}", said, Kind.ZONED_TIMESTAMP)


@given(st.integers(-999_999_999, 999_999_999), st.integers(0, 86_399), st.integers(0, 999_999_999))
def test_an_interval(days: int, seconds: int, nanos: int) -> None:
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    sign = "-" if days < 0 else "+"
    text = f"{sign}{abs(days):02} {clock}.{nanos:09}"
    sql_type = OracleType("INTERVAL DAY(9) TO SECOND(9)")
    _, event, _, head = of_one_cell(
        sql_type, f"TO_DSINTERVAL('{text}')", text, Kind.ZONED_TIMESTAMP, as_text=False
    )
    assert event.startswith(head)
    said = head[head.index(b"P") :].decode()
    assert _seconds(said) == (-1 if days < 0 else 1) * (
        abs(days) * 86_400 + seconds + Decimal(nanos).scaleb(-9)
    )


def _seconds(said: str) -> Decimal:
    """Read an interval of ISO 8601."""
    sizes = {"D": 86_400, "H": 3600, "M": 60, "S": 1}
    total, digits = Decimal(0), ""
    for letter in said.removeprefix("P").replace("T", ""):
        if letter in sizes:
            total += Decimal(digits) * sizes[letter]
            digits = ""
        else:
            digits += letter
    return total
