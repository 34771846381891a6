"""A query event's text, as `ddl_effects` reads it.  Pure.

In: the event, whose text is in its client's charset and spelled by its sql_mode.  Out: its effects, and the
text that is shown.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from wrackline.producers.sources.mysql.ddl.ddl_effects import DdlEffect, TableEmptied, common_effects, effects
from wrackline.producers.sources.mysql.ddl.sql_tokens import SqlSpelling
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.producers.sources.mysql.events.events import QueryEvent
from wrackline.producers.sources.mysql.follow.table_tracker import TableStep
from wrackline.producers.sources.mysql.log.stream_options import MySqlStreamOptions
from wrackline.schemas.errors import OperatorNeeded

_ANSI_QUOTES = 0x4
_NO_BACKSLASH_ESCAPES = 0x100000
_SECRET = re.compile(  # where a password may follow; SPIDER's is in a comment, in its own quotes
    rb"\b(?:CONNECTION|CONNECT|SPIDER|IDENTIFIED)\b|\b(?:PASSWORD|PWD)\s*[\"'=\\]", re.IGNORECASE
)


def effects_of(query: QueryEvent, reading: MySqlStreamOptions) -> tuple[DdlEffect, ...]:
    """Return the effects of a query event."""
    if (common := common_effects(query.text)) is not None:  # in ASCII, as every client's charset has it
        return common
    mode = query.sql_mode or 0
    spelling = SqlSpelling(
        ansi_quotes=bool(mode & _ANSI_QUOTES),
        no_backslash_escapes=bool(mode & _NO_BACKSLASH_ESCAPES),
        mariadb=reading.mariadb,
        lower_names=reading.lower_names,
    )
    return effects(_in_utf8(query), query.database, spelling)


def add_statement_text(news: Iterable[TableStep], query: QueryEvent) -> Iterator[TableStep]:
    """Add the statement's text to its news of tables, unless it may contain a secret."""
    shown = None if _SECRET.search(query.text) else _in_utf8(query).decode("utf-8", "replace")
    return (step if isinstance(step, TableEmptied) else replace(step, ddl=shown) for step in news)


def _in_utf8(query: QueryEvent) -> bytes:
    """Convert the text; a text that is not in its charset stays as it is, at worst with unknown effects."""
    if query.charset is None:
        return query.text
    try:
        reader = charset_of(query.charset, column="a statement").reader
        return query.text if reader is None else reader(query.text).encode()
    except (OperatorNeeded, UnicodeError):
        return query.text
