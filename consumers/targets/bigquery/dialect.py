"""BigQuery's SQL: its quotes, its types, and the script that is a transaction.

Values stand as literals.  The script looks at the state's number first and says what it did as a row, so that
no error has to be understood:  `done`, or `moved` where another consumer was first.  Pure.
"""

from collections.abc import Sequence
from typing import Final

from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.bigquery.limits import LIMITS
from wrackline.consumers.targets.bigquery.types import (
    COLUMNS,
    NATIVE,
    PRIMITIVE_TYPES,
    WIDENS,
    converted,
    image,
    physical,
    restored,
)
from wrackline.schemas.tables.types import MOST_DIGITS

DONE: Final = "done"
MOVED: Final = "moved"
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "`": "\\`", "\n": "\\n", "\r": "\\r", "\0": "\\x00"})


def quoted(name: str) -> str:
    """Write a name."""
    return f"`{name.translate(_ESCAPES)}`"


def literal(text: str) -> str:
    """Write a text."""
    return f"'{text.translate(_ESCAPES)}'"


def script(move: StateMove, steps: Sequence[str]) -> str:
    """Write one transaction: the move of the state, and the steps behind it."""
    inside = "\n".join(f"  {step};" for step in (move.text, *steps))
    return (
        "BEGIN TRANSACTION;\n"  # noqa: S608 - the name is quoted
        f"IF EXISTS (SELECT 1 FROM {move.state} WHERE {move.condition}) THEN\n"
        f"{inside}\n"
        "  COMMIT TRANSACTION;\n"
        f"  SELECT '{DONE}' AS outcome;\n"
        "ELSE\n"
        "  ROLLBACK TRANSACTION;\n"
        f"  SELECT '{MOVED}' AS outcome;\n"
        "END IF"
    )


DIALECT: Final = StagedDialect(
    identifiers=COLUMNS,
    native=NATIVE,
    most_decimal_digits=MOST_DIGITS,
    widens=WIDENS,
    conditional_merge=True,
    types=PRIMITIVE_TYPES,
    moment_type="TIMESTAMP",
    quoted=quoted,
    literal=literal,
    physical=physical,
    restored=restored,
    converted=converted,
    image=image,
    moment=lambda micros: f"TIMESTAMP_MICROS({micros})",
    part=lambda text, by, at: f"SPLIT({text}, {by})[SAFE_ORDINAL({at})]",
    nul=literal("\0"),  # CHR(0) is an empty text
    limits=LIMITS,
)
