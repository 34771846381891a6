"""Foreign keys that change rows by themselves, read from SHOW CREATE TABLE.  Pure.

    a table's definition as the server writes it  ->  Cascade

information_schema shows foreign keys only to users with more rights than SELECT (MariaDB); a definition needs
only SELECT.  Each constraint has a line of its own there, and a comment or default can't begin a line.
MariaDB does not double a backtick in these names, MySQL does: both forms are understood.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from wrackline.producers.sources.mysql.connect.quoting import identifier

_CONSTRAINT = re.compile(
    r"^[ \t]+CONSTRAINT `(?P<name>.+?)` FOREIGN KEY \(`(?P<columns>.+?)`\)"
    r" REFERENCES (?:`(?P<database>.+?)`\.)?`(?P<parent>.+?)` \(`(?P<referenced>.+?)`\)(?P<rules>[A-Z ]*),?$",
    re.MULTILINE,
)
_BETWEEN = re.compile(r"`,\s*`")
_RULE = re.compile("ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)")


class Cascade(NamedTuple):
    """One such foreign key; names are quoted for SQL."""

    name: str
    columns: str
    parent: str
    referenced: str
    rules: str  # what it does: "ON DELETE CASCADE and ON UPDATE SET NULL"


def cascades(definition: str, database: str) -> Iterator[Cascade]:
    """Return the foreign keys that change rows of the table that has them, which is in this database."""
    for found in _CONSTRAINT.finditer(definition):
        if rules := _RULE.findall(found["rules"]):
            of = database if found["database"] is None else _name(found["database"])
            yield Cascade(
                identifier(_name(found["name"])),
                _names(found["columns"]),
                f"{identifier(of)}.{identifier(_name(found['parent']))}",
                _names(found["referenced"]),
                " and ".join(rules),
            )


def _names(listed: str) -> str:
    return ", ".join(identifier(_name(name)) for name in _BETWEEN.split(listed))


def _name(written: str) -> str:
    return written.replace("``", "`")
