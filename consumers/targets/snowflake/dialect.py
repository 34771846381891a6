"""Snowflake's SQL, as a value, and how its tables are made.

Names are upper case, because unquoted SQL finds only those.  A backslash in a literal escapes.

    stage   transient and without history, so that what a batch leaves costs nothing when it is dropped.
            It is not a temporary table, because another session may merge it
"""

from typing import Final

from wrackline.consumers.contract.identifiers import Case, Identifiers
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedPlace
from wrackline.consumers.staged.service import StageTable
from wrackline.consumers.staged.shape import StagedShape, columns_text
from wrackline.consumers.targets.snowflake import types
from wrackline.consumers.targets.snowflake.limits import LIMITS

IDENTIFIERS: Final = Identifiers(255, Case.UPPER, case_sensitive=False, refused="\0")


def quoted(name: str) -> str:
    """Quote a name."""
    return '"' + name.upper().replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write a text."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


DIALECT: Final = StagedDialect(
    identifiers=IDENTIFIERS,
    native=types.NATIVE,
    most_decimal_digits=types.MOST_DIGITS,
    widens=types.WIDENS,
    conditional_merge=True,
    types=types.PRIMITIVE_TYPES,
    moment_type="TIMESTAMPTZ(6)",
    quoted=quoted,
    literal=literal,
    physical=types.physical,
    restored=types.restored,
    converted=types.converted,
    image=types.image,
    moment=types.moment,
    view_option="COPY GRANTS",
    limits=LIMITS,
)


def create_table(place: StagedPlace, shape: StagedShape) -> str:
    """Write the creation of a table; what it is clustered by is left to the order in which rows come."""
    columns = columns_text(shape, DIALECT)
    return f"CREATE TABLE IF NOT EXISTS {DIALECT.path(place.table)} ({columns})"


def create_stage(stage: StageTable) -> str:
    """Write the creation of a stage; upkeep drops what a crash left."""
    columns = stage.columns_text(DIALECT)
    path = DIALECT.path(stage.relation)
    return f"CREATE TRANSIENT TABLE {path} ({columns}) DATA_RETENTION_TIME_IN_DAYS = 0"
