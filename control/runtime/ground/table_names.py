"""A table as people name it on a command line, in each spelling that a command, a hint or a topic shows.

Pure.

    schema.table, database.schema.table, or a whole topic
    a part with odd characters as it is, in quotes as SQL has it, or with `_` for each, as in topics

In: what was typed, and the name that is meant, as topics write it.  Out: whether it is that one.
"""

import re
from typing import Final

_PART: Final = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"(?=\.|\Z)|(?P<plain>[^.]+)')
_ODD: Final = re.compile(r"[^a-zA-Z0-9_-]")


def name_parts(given: str) -> list[str]:
    """Return a name's parts; a dot in quotes parts nothing."""
    found = []
    for part in _PART.finditer(given.strip()):
        quoted = part["quoted"]
        found.append(part["plain"] if quoted is None else quoted.replace('""', '"'))
    return found


def topic_spelling(given: str) -> str:
    """Write a name as topics do."""
    return ".".join(_ODD.sub("_", part) for part in name_parts(given))


def is_named_by(given: str, name: str, own: str = "") -> bool:
    """Whether this is the table that was meant, by its name in topics or its own one, where that is known.

    Both may have the database before them, and the first the server; a dot of a name is in the own one.
    """
    wanted, plain = topic_spelling(given), ".".join(name_parts(given))
    in_topic = name == wanted or name.endswith(f".{wanted}")
    return bool(wanted) and (in_topic or plain in (own.split(".", at)[-1] for at in range(3)))


def fold_name(given: str) -> list[str]:
    """Write a name as topics do, in each way in which dots may belong to the table's own name."""
    parts = topic_spelling(given).split(".")
    return [".".join((*parts[:at], "_".join(parts[at:]))) for at in range(1, len(parts) - 1)]
