"""A query event's text, as `statements` reads it.  Pure.

In: the event, whose text is in its client's charset and spelled by its sql_mode.  Out: what it does, and what
is shown of it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from wrackline.producers.sources.mysql.charsets import charset_of
from wrackline.producers.sources.mysql.events import Query
from wrackline.producers.sources.mysql.roll import Told
from wrackline.producers.sources.mysql.scope import Reading
from wrackline.producers.sources.mysql.statements import Deed, Emptied, deeds
from wrackline.producers.sources.mysql.words import Spelling
from wrackline.schemas.errors import OperatorNeeded

_ANSI_QUOTES = 0x4
_NO_BACKSLASH_ESCAPES = 0x100000
_SECRET = re.compile(  # where a password may follow; SPIDER's stands in a comment, in quotes of its own
    rb"\b(?:CONNECTION|CONNECT|SPIDER|IDENTIFIED)\b|\b(?:PASSWORD|PWD)\s*[\"'=\\]", re.IGNORECASE
)


def deeds_of(query: Query, reading: Reading) -> tuple[Deed, ...]:
    """Say what a query event does."""
    mode = query.sql_mode or 0
    spelling = Spelling(
        ansi_quotes=bool(mode & _ANSI_QUOTES),
        no_backslash_escapes=bool(mode & _NO_BACKSLASH_ESCAPES),
        mariadb=reading.mariadb,
        lower_names=reading.lower_names,
    )
    return deeds(_in_utf8(query), query.database, spelling)


def said(news: Iterable[Told], query: Query) -> Iterator[Told]:
    """Put the statement's text to what became of tables by it, unless there may be a secret in it."""
    shown = None if _SECRET.search(query.text) else _in_utf8(query).decode("utf-8", "replace")
    return (step if isinstance(step, Emptied) else replace(step, ddl=shown) for step in news)


def _in_utf8(query: Query) -> bytes:
    """Convert the text; one that is not what it says to be is read as it is, and found doubtful at worst."""
    if query.charset is None:
        return query.text
    try:
        reader = charset_of(query.charset, column="a statement").reader
        return query.text if reader is None else reader(query.text).encode()
    except (OperatorNeeded, UnicodeError):
        return query.text
