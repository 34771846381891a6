"""The SQL of a chunk's cells: they have the texts that SQL_REDO has in a session of ours.  Pure.

In: a column's type.  Out: a template, whose `{}` is the column's name in SQL, and the kind of the cell that
it makes.  So log and chunk have one writer, and the same value becomes the same bytes.

Three kinds of columns differ.  RAW and BLOB come as bytes, where SQL_REDO has hexadecimal digits.  Binary
floats come as numbers of the driver, because no text of theirs is exact.  What SQL_REDO never has comes as
text.
"""

from types import MappingProxyType
from typing import Final

from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import family
from wrackline.producers.sources.oracle.redo.kinds import RedoKind

DATE_MASK: Final = "SYYYY-MM-DD HH24:MI:SS"
TIMESTAMP_MASK: Final = f"{DATE_MASK}.FF9"
ZONED_MASK: Final = f"{TIMESTAMP_MASK} TZH:TZM"

_AS_IT_IS: Final = "{}"
_SQL: Final = MappingProxyType(
    {
        "NUMBER": "TO_CHAR({}, 'TM9')",
        "FLOAT": "TO_CHAR({}, 'TM9')",
        "DATE": f"TO_CHAR({{}}, '{DATE_MASK}')",
        "TIMESTAMP": f"TO_CHAR({{}}, '{TIMESTAMP_MASK}')",
        "TIMESTAMP WITH TIME ZONE": f"TO_CHAR({{}}, '{ZONED_MASK}')",
        "TIMESTAMP WITH LOCAL TIME ZONE": f"TO_CHAR({{}}, '{TIMESTAMP_MASK}')",
        "INTERVAL DAY TO SECOND": "TO_CHAR({})",
        "INTERVAL YEAR TO MONTH": "TO_CHAR({})",
        "XMLTYPE": "XMLSERIALIZE(CONTENT {} AS CLOB)",
        "JSON": "JSON_SERIALIZE({} RETURNING CLOB)",
        "VECTOR": "VECTOR_SERIALIZE({} RETURNING CLOB)",
    }
)
_KINDS: Final = MappingProxyType(
    {
        "NUMBER": RedoKind.NUMBER,
        "FLOAT": RedoKind.NUMBER,
        "DATE": RedoKind.DATE,
        "TIMESTAMP": RedoKind.TIMESTAMP,
        "TIMESTAMP WITH TIME ZONE": RedoKind.ZONED,
        "TIMESTAMP WITH LOCAL TIME ZONE": RedoKind.ZONED,
        "INTERVAL DAY TO SECOND": RedoKind.DAYS,
        "INTERVAL YEAR TO MONTH": RedoKind.MONTHS,
    }
)


def cell_sql(sql_type: OracleType) -> str:
    """Return the template of an expression; `{}` is the column."""
    return _SQL.get(family(sql_type), _AS_IT_IS)


def cell_kind(sql_type: OracleType) -> RedoKind:
    """Return the kind of the cell that the expression makes."""
    return _KINDS.get(family(sql_type), RedoKind.TEXT)
