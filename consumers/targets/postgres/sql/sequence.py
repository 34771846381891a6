"""A sequence's text back to its value, as PostgreSQL writes it.

In: the type of a sequence, and an expression of the text (contract/sequences.py).  Out: an expression of
the value, null where the text is null.  It is exact, except for U+0000 in a text, which stays escaped: the
server has none.  A struct is json here, because a row needs a type that somebody has made.
"""

from psycopg import sql

from wrackline.consumers.contract.sequences import BELOW_ALL_LONGS, ESCAPES, PARTS, THERE, FeedSequence
from wrackline.consumers.targets.postgres.sql.types import column_type
from wrackline.schemas.tables.types import ColumnType, Kind

_MOMENT = (  # a product with an interval is exact while its number has no more than 53 bits
    "('epoch'::{of} + div({number}, 1000000)::bigint * interval '1 second'"
    " + mod({number}, 1000000)::bigint * interval '1 microsecond')"
)


def value(of: FeedSequence, text: sql.Composable) -> sql.Composable:
    """Write the value."""
    split = sql.SQL("split_part({}, {}, {})")
    parts = [
        split.format(text, _control_literal(PARTS), sql.Literal(at))
        for at, _ in enumerate(of.fields, start=1)
    ]
    if not of.is_struct:
        return _leaf(of.fields[0][1], parts[0])
    fields = [
        sql.SQL("{}, CASE WHEN left({}, 1) = {} THEN {} END").format(
            sql.Literal(name), part, sql.Literal(THERE), _leaf(its, sql.SQL("substr({}, 2)").format(part))
        )
        for part, (name, its) in zip(parts, of.fields, strict=True)
    ]
    whole = sql.SQL("CASE WHEN {} IS NOT NULL THEN json_build_object({}) END")
    return whole.format(text, sql.SQL(", ").join(fields))


def _leaf(of: ColumnType, part: sql.Composable) -> sql.Composable:
    its_type = sql.SQL(column_type(of))
    if of.kind is Kind.STRING:
        for character, escaped in reversed(ESCAPES.items()):
            if character != "\0":
                part = sql.SQL("replace({}, {}, {})").format(
                    part, _control_literal(escaped), _control_literal(character)
                )
        return part
    if of.kind is Kind.DECIMAL:
        zero = 10 ** ((of.precision or 0) - (of.scale or 0))
        return sql.SQL("({}::numeric - {})::{}").format(part, sql.Literal(zero), its_type)
    number = sql.SQL("({}::numeric - {})").format(part, sql.Literal(BELOW_ALL_LONGS))
    match of.kind:
        case Kind.DATE:
            return sql.SQL("(date '1970-01-01' + {}::integer)").format(number)
        case Kind.INSTANT_MICROS | Kind.TIMESTAMP_MICROS:
            return sql.SQL(_MOMENT).format(of=its_type, number=number)
        case _:
            return sql.SQL("{}::{}").format(number, its_type)


def _control_literal(characters: str) -> sql.Composable:
    """Write control characters, which no text of a statement should hold."""
    return sql.SQL(" || ").join(sql.SQL("chr({})").format(sql.Literal(ord(one))) for one in characters)
