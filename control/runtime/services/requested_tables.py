"""The tables that a request on a command line names, in the spelling that the pipeline's task takes.

Pure.  In: what was typed, the tables that the stored positions know, the filters.  Out: what is sent.
An unknown name is sent as it is, because a table that was created just now has no state yet; but not a name
that the filters leave out under any reading of its dots.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from wrackline.control.runtime.ground.table_names import is_named_by, name_parts
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.language.patterns import compile_pattern, resolve
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.tables.table import TableId

AMBIGUOUS = define(
    "snapshot.table_ambiguous",
    OperatorNeeded,
    "{named} may be any of: {tables}",
    hint="name one of them as it is written there",
)
NOT_CAPTURED = define(
    "snapshot.not_captured",
    OperatorNeeded,
    "the settings of this pipeline leave {named} out, so no row of it is read",
    hint="see which tables are captured: wrackline tables <pipeline.toml>; to have this one too, change the"
    " include and exclude lists, and start the pipeline again: wrackline run <pipeline.toml>",
)
_PLAIN: Final = re.compile(r"[\w $-]+(\.[\w $-]+)+")  # else it is in quotes, or a pattern


def spell_tables(given: Sequence[str], known: Collection[TableId], server: str, naming: Naming) -> list[str]:
    """Write each name so that the task knows it; what means no known table stays as it is."""
    return [_spell(one, known, server, naming) for one in given]


def _spell(given: str, known: Collection[TableId], server: str, naming: Naming) -> str:
    if _resolve(given, known):
        return given
    found = [table for table in known if is_named_by(given, table_topic(server, table, naming), str(table))]
    if len(found) > 1:
        raise AMBIGUOUS(named=given, tables=", ".join(map(str, sorted(found))))
    return ".".join(_quote(part) for part in found[0]) if found else given


def refuse_left_out(
    given: Sequence[str], known: Collection[TableId], databases: Collection[str], chosen: TableFilter
) -> None:
    """Refuse a name that means nothing that the filters capture."""
    for one in given:
        meant = _resolve(one, known) or tuple(_read(one.strip(), databases))
        if meant and not any(map(chosen.captures, meant)):
            raise NOT_CAPTURED(named=one)


def _resolve(given: str, known: Collection[TableId]) -> tuple[TableId, ...]:
    try:
        return resolve(compile_pattern(given.strip()), known)
    except WracklineError:  # the reader of the whole request reports it
        return ()


def _read(given: str, databases: Collection[str]) -> Iterator[TableId]:
    """Read a plain name in each way in which its dots may part it; of a pattern nothing is sure."""
    if not given.startswith('"') and not _PLAIN.fullmatch(given):
        return
    parts = name_parts(given)
    if len(parts) > 2 and parts[0] in {*databases, parts[1]}:
        yield TableId(parts[0], parts[1], ".".join(parts[2:]))
    elif len(parts) > 1:
        schema, name = parts[0], ".".join(parts[1:])
        yield from (TableId(database, schema, name) for database in {schema, *databases})


def _quote(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'
