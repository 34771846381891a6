"""A table as people name it on a command line, in each spelling that a command, a hint or a topic shows.

Pure.

    schema.table, database.schema.table, or a whole topic
    a part with odd characters as it is, in quotes as SQL has it, or as in topics: `_` or `_uxxxx` for each

In: what was typed, and the name that is meant, as topics write it.  Out: whether it is that one.
"""

import re
from typing import Final

from wrackline.schemas.kafka.topic_names import Naming

_PART: Final = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"(?=\.|\Z)|(?P<plain>[^.]+)')


def name_parts(given: str) -> list[str]:
    """Return a name's parts; a dot in quotes parts nothing."""
    found = []
    for part in _PART.finditer(given.strip()):
        quoted = part["quoted"]
        found.append(part["plain"] if quoted is None else quoted.replace('""', '"'))
    return found


def topic_spelling(given: str, naming: Naming = Naming.WRACKLINE) -> str:
    """Write a name as topics do."""
    return ".".join(map(naming.part, name_parts(given)))


def is_named_by(given: str, name: str, own: str = "") -> bool:
    """Whether this is the table that was meant, by its name in topics or its own one, where that is known.

    Both may have the database before them, and the first the server; a dot of a name is in the own one.
    """
    plain = ".".join(name_parts(given))
    spellings = (topic_spelling(given), topic_spelling(given, Naming.WRACKLINE_UNICODE))
    in_topic = any(name == wanted or name.endswith(f".{wanted}") for wanted in spellings)
    return bool(plain) and (in_topic or plain in (own.split(".", at)[-1] for at in range(3)))


def fold_name(given: str) -> list[str]:
    """Write a name as topics do, in each way in which dots may belong to the table's own name."""
    parts = topic_spelling(given).split(".")
    return [".".join((*parts[:at], "_".join(parts[at:]))) for at in range(1, len(parts) - 1)]
