"""What each kind of value is in Spanner, and how the primitive of a stage becomes what a mutation carries.

    decimal(12,2)   NUMERIC         its text; one that NUMERIC can't hold is a STRING
    timestamp       TIMESTAMP       as if it were UTC, because Spanner has no timestamp without a zone
    bytes           BYTES(MAX)      base64
    time            STRING(MAX)     12:34:56.000001, because Spanner has no time of day

A whole number, a day and a moment travel as texts too; the client makes the text of a number.  Pure.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.limits import DAY_MICROS, Limit
from wrackline.consumers.contract.plan import OurColumns
from wrackline.consumers.staged.dialect import Primitive, StagedDialect
from wrackline.schemas.tables.types import MOST_DIGITS, ColumnType, Kind

IDENTIFIERS: Final = Identifiers(128, case_sensitive=False, refused="[^A-Za-z0-9_]", letter="x")
TEXT: Final = "STRING(MAX)"
CELL_BYTES: Final = 10_485_760
TEXT_BYTES: Final = 2_621_440  # Spanner counts characters here, and a text has no more of them than bytes
_MOST_SCALE, _MOST_WHOLE = 9, 29  # digits of a NUMERIC behind its point and before it
_LEAST_DAY, _GREATEST_DAY = -719_162, 2_932_896  # the years 1 to 9999
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_PHYSICAL: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.BOOLEAN: "BOOL",
        Kind.UINT64: "NUMERIC",
        Kind.DECIMAL: "NUMERIC",
        Kind.FLOAT32: "FLOAT64",
        Kind.FLOAT64: "FLOAT64",
        Kind.BYTES: "BYTES(MAX)",
        Kind.BITS: "BYTES(MAX)",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP_MICROS: "TIMESTAMP",
        Kind.ZONED_TIMESTAMP: "TIMESTAMP",
        Kind.INSTANT_MICROS: "TIMESTAMP",
        **dict.fromkeys((Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DURATION_MICROS), "INT64"),
    }
)
NATIVE: Final = frozenset(_PHYSICAL)
_WHOLE = (Kind.INT16, Kind.INT32, Kind.INT64)
WIDENS: Final = frozenset(
    {
        *((old, new) for at, old in enumerate(_WHOLE) for new in _WHOLE[at + 1 :]),
        (Kind.FLOAT32, Kind.FLOAT64),
        (Kind.DECIMAL, Kind.DECIMAL),
    }
)
_MOMENTS = Limit(least=_LEAST_DAY * DAY_MICROS, greatest=(_GREATEST_DAY + 1) * DAY_MICROS - 1)
LIMITS: Final[Mapping[Kind, Limit]] = MappingProxyType(
    {
        **{kind: Limit(TEXT_BYTES) for kind in Kind if kind not in NATIVE},
        Kind.BYTES: Limit(CELL_BYTES),
        Kind.BITS: Limit(CELL_BYTES),
        Kind.DATE: Limit(least=_LEAST_DAY, greatest=_GREATEST_DAY),
        Kind.TIME_MICROS: Limit(),
        Kind.TIMESTAMP_MICROS: _MOMENTS,
        Kind.ZONED_TIMESTAMP: _MOMENTS,
        Kind.INSTANT_MICROS: _MOMENTS,
    }
)


def physical(of: ColumnType) -> str:
    """Return a column's type."""
    if of.kind is Kind.DECIMAL and not _is_numeric(of):
        return TEXT
    return _PHYSICAL.get(of.kind, TEXT)


def cell(value: Any, of: ColumnType) -> Any:  # noqa: ANN401 - a primitive, and what the client takes
    """Make what a mutation carries of a primitive; null stays null."""
    return value if value is None else _CELLS.get(of.kind, _as_it_is)(value)


def carried_back(value: Any, of: ColumnType) -> Any:  # noqa: ANN401 - what the client reads, and what it takes
    """Make what a mutation carries of a value that was read; null stays null."""
    return value if value is None else _READ.get(physical(of), _as_it_is)(value)


def image(value: Any, of: ColumnType) -> Any:  # noqa: ANN401 - what a mutation carries
    """Return what is equal for values that are exactly equal, and for no others."""
    return value if value is None else _IMAGES.get(physical(of), _as_it_is)(value)


def moment(micros: int) -> str:
    """Write a moment, counted in microseconds since 1970."""
    return _moment_text(_EPOCH + timedelta(microseconds=micros))


def quoted(name: str) -> str:
    """Quote a name, which has no backtick."""
    return f"`{name}`"


def legal(name: str) -> str:
    """Name one of our own columns or tables as Spanner allows it: no name begins with an underscore."""
    return name.lstrip("_")


def span_places(ours: OurColumns) -> tuple[str, str]:
    """Name the columns that say where a version began and ended, which readers see with `_at` behind."""
    prefix = legal(ours.seq).removesuffix("seq")
    return f"{prefix}start", f"{prefix}end"


def shows_places(of: ColumnType) -> bool:
    """Whether the places of a decimal sequence can be shown: they are kept with one digit more."""
    precision = (of.precision or 0) + 1
    return _is_numeric(replace(of, precision=precision))


def _is_numeric(of: ColumnType) -> bool:
    precision, scale = of.precision or 0, of.scale or 0
    return scale <= _MOST_SCALE and precision - scale <= _MOST_WHOLE


def _as_it_is(value: Any) -> Any:  # noqa: ANN401 - a primitive
    return value


def _moment_text(value: datetime) -> str:
    """Write it as it is in UTC; the client writes years before 1000 with fewer digits."""
    return value.isoformat().removesuffix("+00:00") + "Z"


def _bytes(value: bytes) -> str:
    return b64encode(value).decode()


def _day(days: int) -> str:
    return date.fromordinal(_EPOCH_DAY + days).isoformat()


def _time(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}"


_CELLS: Final[Mapping[Kind, Callable[[Any], Any]]] = MappingProxyType(
    {
        Kind.BYTES: _bytes,
        Kind.BITS: _bytes,
        Kind.DATE: _day,
        Kind.TIME_MICROS: _time,
        Kind.TIMESTAMP_MICROS: moment,
        Kind.ZONED_TIMESTAMP: moment,
        Kind.INSTANT_MICROS: moment,
    }
)

_READ: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "BYTES(MAX)": bytes.decode,  # base64
        "DATE": date.isoformat,
        "NUMERIC": str,
        "TIMESTAMP": _moment_text,
    }
)
_IMAGES: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "FLOAT64": repr,  # there are two zeros, and NaN is one value
        "NUMERIC": Decimal,  # 1.5 and 1.50
    }
)

DIALECT: Final = (
    StagedDialect(  # shape.py asks for names and types; rows are mutations, so no text restores one
        identifiers=IDENTIFIERS,
        native=NATIVE,
        most_decimal_digits=MOST_DIGITS,
        widens=WIDENS,
        conditional_merge=True,
        types={
            Primitive.BOOLEAN: "BOOL",
            Primitive.BIGINT: "INT64",
            Primitive.DOUBLE: "FLOAT64",
            Primitive.BYTES: "BYTES(MAX)",
            Primitive.TEXT: TEXT,
        },
        moment_type="TIMESTAMP",
        quoted=quoted,
        literal=repr,
        physical=physical,
        restored=lambda value, _: value,
        # a decimal that outgrows NUMERIC becomes a text, with as many digits as its source sends
        converted=lambda value, _, new: f"FORMAT('%.{new.scale}f', {value})",
        image=lambda value, of: f"{value}, IEEE_DIVIDE(1, {value})" if physical(of) == "FLOAT64" else value,
        moment=lambda micros: f"TIMESTAMP_MICROS({micros})",
        limits=LIMITS,
    )
)
