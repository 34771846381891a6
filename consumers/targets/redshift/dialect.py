"""Redshift's SQL, as a value, and how its tables are laid out.

MERGE has no conditions here, so its parts are statements.  DDL is part of a transaction.  A name is folded to
lower case even in quotes.  A literal of our own that a VARCHAR can't hold is refused before it is sent,
because CAST would cut it without a word.

    table   distributed by the key's hash, by which each batch is joined; that column never goes
    stage   distributed by the same hash, so that a join moves no row between nodes
"""

from typing import Final

from wrackline.consumers.contract.identifiers import Case, Identifiers
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedPlace
from wrackline.consumers.staged.service import StageTable
from wrackline.consumers.staged.shape import StagedShape, columns_text
from wrackline.consumers.targets.redshift import types
from wrackline.consumers.targets.redshift.limits import LIMITS, NAME_BYTES, ROW_BYTES
from wrackline.schemas.errors import OperatorNeeded, define

TEXT_TOO_LONG = define(
    "redshift.text_too_long",
    OperatorNeeded,
    "what is kept about a table has {size} bytes, and a text of Redshift holds {most}",
    hint="the table has too many columns for this target: leave some out: column.exclude.list",
)

# no column may be named as those that each table has of itself; a name is printable
_SYSTEM = (
    r"^o(?=id$)|^t(?=ableoid$)|^c(?=(?:tid|min|max)$)|^x(?=(?:min|max)$)|^i(?=nsertxid$)|^d(?=eletexid$)"
)
IDENTIFIERS: Final = Identifiers(
    NAME_BYTES,
    Case.LOWER,
    case_sensitive=False,
    refused=rf"[\x00-\x1f\x7f]|(?i:{_SYSTEM})",
    most_bytes=NAME_BYTES,
)


def quoted(name: str) -> str:
    """Quote a name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write a text without a backslash, which escapes or not as a session says; refuse what would be cut."""
    size = len(text.encode())
    if size > types.TEXT_BYTES:
        raise TEXT_TOO_LONG(size=size, most=types.TEXT_BYTES)
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\\")]
    return parts[0] if len(parts) == 1 else f"({' || CHR(92) || '.join(parts)})"


DIALECT: Final = StagedDialect(
    identifiers=IDENTIFIERS,
    native=types.NATIVE,
    most_decimal_digits=types.MOST_DIGITS,
    widens=types.WIDENS,
    conditional_merge=False,
    types=types.PRIMITIVE_TYPES,
    moment_type="TIMESTAMPTZ",
    quoted=quoted,
    literal=literal,
    physical=types.physical,
    restored=types.restored,
    converted=types.converted,
    image=types.image,
    moment=types.moment,
    shown=types.shown,
    transactional_ddl=True,
    unheld="\0",
    limits=LIMITS,
    row_bytes=ROW_BYTES,
)


def create_table(place: StagedPlace, shape: StagedShape) -> str:
    """Write the creation of a table; what it is sorted by is chosen by the service."""
    columns = columns_text(shape, DIALECT)
    layout = f"DISTSTYLE KEY DISTKEY({quoted(shape.key_place)})"
    return f"CREATE TABLE IF NOT EXISTS {DIALECT.path(place.table)} ({columns}) {layout}"


def create_stage(stage: StageTable) -> str:
    """Write the creation of a stage, of which no backup is made."""
    columns = stage.columns_text(DIALECT)
    layout = f"BACKUP NO DISTSTYLE KEY DISTKEY({stage.columns[0].name})"
    return f"CREATE TABLE {DIALECT.path(stage.relation)} ({columns}) {layout}"
