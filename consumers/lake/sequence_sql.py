"""A sequence's text back to its value, as Spark SQL.

In: the type of a sequence, and an expression of the text (sequences.py).  Out: an expression of the value,
null where the text is null; exact for each type that has an order.
"""

from wrackline.consumers.contract.sequences import BELOW_ALL_LONGS, ESCAPES, PARTS, THERE, FeedSequence
from wrackline.consumers.lake.merge_sql import literal, quote
from wrackline.schemas.tables.types import ColumnType, Kind, spark_type


def type_sql(of: FeedSequence) -> str:
    """Return the type that a column of it has."""
    if not of.is_struct:
        return spark_type(of.fields[0][1])
    return f"struct<{', '.join(f'{quote(name)}: {spark_type(its)}' for name, its in of.fields)}>"


def value_sql(of: FeedSequence, text: str) -> str:
    """Write the value."""
    parts = [
        f"split_part({text}, {_control_literal(PARTS)}, {at})" for at, _ in enumerate(of.fields, start=1)
    ]
    if not of.is_struct:
        return _leaf(of.fields[0][1], parts[0])
    fields = (
        f"{literal(name)}, CASE WHEN left({part}, 1) = '{THERE}' THEN {_leaf(its, f'substr({part}, 2)')} END"
        for part, (name, its) in zip(parts, of.fields, strict=True)
    )
    return f"CASE WHEN {text} IS NOT NULL THEN named_struct({', '.join(fields)}) END"


def _leaf(of: ColumnType, part: str) -> str:
    if of.kind is Kind.STRING:
        for character, escaped in reversed(ESCAPES.items()):
            part = f"replace({part}, {_control_literal(escaped)}, {_control_literal(character)})"
        return part
    if of.kind is Kind.DECIMAL:
        precision, scale = of.precision or 0, of.scale or 0
        zero = f"CAST('{10 ** (precision - scale)}' AS decimal({precision - scale + 1}, 0))"
        return f"CAST(CAST({part} AS decimal({precision + 1}, {scale})) - {zero} AS {spark_type(of)})"
    number = f"CAST(CAST({part} AS decimal(20, 0)) - {BELOW_ALL_LONGS} AS bigint)"
    match of.kind:
        case Kind.DATE:
            return f"date_from_unix_date(CAST({number} AS int))"
        case Kind.INSTANT_MICROS | Kind.TIMESTAMP_MICROS:
            return f"CAST(timestamp_micros({number}) AS {spark_type(of)})"
        case _:
            return f"CAST({number} AS {spark_type(of)})"


def _control_literal(characters: str) -> str:
    """Write control characters, which no text of a statement should hold."""
    return f"concat({', '.join(f'char({ord(one)})' for one in characters)})"
