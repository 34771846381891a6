"""What Delta does with types and names: which types widen in place, which names it keeps for itself.

In: Spark types and names.  Out: whether, and a pattern.  With columns mapped by name every other character
is allowed, also those that Parquet refuses.
"""

from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, FloatType, IntegerType, LongType

from wrackline.consumers.contract.identifiers import Identifiers

# A MERGE works with columns of these names beside the table's own; their last character but one becomes `_`.
_OF_A_MERGE = (
    "_source_row_present_",
    "_target_row_present_",
    "_row_dropped_",
    "_metadata",
    "deletionVectorId",
)
_REFUSED = "|".join(f"(?<=^{name[:-2]}){name[-2]}(?={name[-1]}$)" for name in _OF_A_MERGE)
IDENTIFIERS = Identifiers(most_characters=255, case_sensitive=False, refused=_REFUSED)


def can_widen(old: DataType, new: DataType) -> bool:
    """Whether Delta can make this change in place."""
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return old.scale <= new.scale and old.precision - old.scale <= new.precision - new.scale
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return can_widen(old.elementType, new.elementType)
    return old == new or (type(old), type(new)) in {(IntegerType, LongType), (FloatType, DoubleType)}
