"""A source's column names as a target allows them.

What a target allows is data (`Identifiers`), so one function serves them all.  The same name always
becomes the same name: a character that is refused becomes `_`, case folds as the target folds it, a
name too long is cut and ends in a short hash of the whole.  Two columns that would get one name are
refused; so is a name that begins like our own columns.
"""

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from itertools import count

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import TableSchema

NAMES_COLLIDE = define(
    "target.names_collide",
    OperatorNeeded,
    "columns {first} and {second} of {table} would both be {name} in the target",
    hint="rename one of them, or leave one out: column.exclude.list = '{column}'",
)
NAME_RESERVED = define(
    "target.name_reserved",
    OperatorNeeded,
    "column {column} of {table} would begin with {prefix}, as our own columns do",
    hint='choose another prefix for our columns: target.column.prefix = "_cdc_"',
)

_HASH_DIGITS = 8
_PARTS = ("database", "schema")  # of a source, in a template


class Case(Enum):
    """How a target treats the case of a name."""

    KEEP = "keep"
    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Which names a target allows."""

    most_characters: int
    case: Case = Case.KEEP
    case_sensitive: bool = True  # whether `a` and `A` can be two columns
    refused: str = ""  # a regular expression of one character; empty: every character is allowed
    most_bytes: int | None = None  # where the limit counts UTF-8 bytes
    letter: str = ""  # stands before a name that begins with no letter of ASCII, where names have to


def target_name(name: str, identifiers: Identifiers) -> str:
    """Make one name legal."""
    legal = re.sub(identifiers.refused, "_", name) if identifiers.refused else name
    if identifiers.letter and not (legal[:1].isascii() and legal[:1].isalpha()):
        legal = identifiers.letter + legal
    if identifiers.case is Case.LOWER:
        legal = legal.lower()
    elif identifiers.case is Case.UPPER:
        legal = legal.upper()
    if _fits(legal, identifiers):
        return legal
    ending = "_" + sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    ending = ending.upper() if identifiers.case is Case.UPPER else ending
    while not _fits(legal + ending, identifiers):
        legal = legal[:-1]
    return legal + ending


def suffixed_names(name: str, suffix: str, identifiers: Identifiers) -> Iterator[str]:
    """Yield a legal name that ends with this suffix, then with numbers behind it; a long name is cut."""
    for number in count(1):
        ending = suffix if number == 1 else f"{suffix}_{number}"
        most = identifiers.most_bytes
        shorter = replace(
            identifiers,
            most_characters=identifiers.most_characters - len(ending),
            most_bytes=None if most is None else most - len(ending),
        )
        yield target_name(name, shorter) + ending


def target_names(table: TableSchema, identifiers: Identifiers, *, reserved_prefix: str) -> dict[str, str]:
    """Map each column of a table to its name in the target."""
    taken: dict[str, str] = {}
    names: dict[str, str] = {}
    for column in table.columns:
        name = target_name(column.name, identifiers)
        compared = name if identifiers.case_sensitive else name.casefold()
        if compared.casefold().startswith(reserved_prefix.casefold()):
            raise NAME_RESERVED(column=repr(column.name), table=table.id, prefix=reserved_prefix)
        if compared in taken:
            raise NAMES_COLLIDE(
                first=repr(taken[compared]),
                second=repr(column.name),
                table=table.id,
                name=name,
                column=f"{table.id}.{column.name}",
            )
        taken[compared] = column.name
        names[column.name] = name
    return names


def template_fault(value: Value) -> str | None:
    """Say what is wrong with a template of a schema's name."""
    try:
        found = [(part, form, how) for _, part, form, how in string.Formatter().parse(str(value))]
    except ValueError:
        found = [("?", None, None)]
    parts = [(part, form, how) for part, form, how in found if part is not None]
    # a form could ask for a name of any width
    if not value or "\0" in str(value) or any(part not in _PARTS or form or how for part, form, how in parts):
        return "expected a name, in which {database} and {schema} may stand"
    return None


def _fits(name: str, identifiers: Identifiers) -> bool:
    if len(name) > identifiers.most_characters:
        return False
    return identifiers.most_bytes is None or len(name.encode()) <= identifiers.most_bytes
