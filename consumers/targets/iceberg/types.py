"""What Iceberg does with types and names: which types widen in place, which names it keeps for itself.

In: Spark types and names.  Out: whether, and a pattern.
"""

from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, FloatType, IntegerType, LongType

from wrackline.consumers.contract.identifiers import Identifiers

# Iceberg keeps these for itself in every table; their last character becomes `_`.
_METADATA = (
    "_file",
    "_pos",
    "_deleted",
    "_spec_id",
    "_partition",
    "_row_id",
    "_last_updated_sequence_number",
    "_change_type",
    "_change_ordinal",
    "_commit_snapshot_id",
)
# A dot would make a path of a name.
_REFUSED = "|".join((r"\.", *(f"(?<=^{name[:-1]}){name[-1]}$" for name in _METADATA)))
IDENTIFIERS = Identifiers(most_characters=255, refused=_REFUSED)


def can_widen(old: DataType, new: DataType) -> bool:
    """Whether Iceberg can make this change in place."""
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return old.scale == new.scale and old.precision <= new.precision
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return can_widen(old.elementType, new.elementType)
    return old == new or (type(old), type(new)) in {(IntegerType, LongType), (FloatType, DoubleType)}
