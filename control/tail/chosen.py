"""Which topics are meant: all tables' of a pipeline, or those that were named.

A name is a whole topic's, or a table's: schema.table, or with the database before it.  A topic that is
called so comes first.  Characters that topics can't hold stand as `_` in them, and may be given either way.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.topics import is_of_table

NO_TOPIC = define(
    "tail.no_topic",
    OperatorNeeded,
    "there is no topic of {name}",
    hint="a table's topic comes with its first event; which there are: wrackline tables <pipeline.toml>",
)
NOTHING_YET = define(
    "tail.nothing_yet",
    Transient,
    "no table of {server} has a topic yet",
    hint="topics come with the first events: wrackline run <pipeline.toml>; --follow waits for them",
)

_ODD: Final = re.compile(r"[^a-zA-Z0-9._-]")


def wanted(server: str, names: Sequence[str]) -> Callable[[str], bool]:
    """Return which topics may be meant."""

    def may_be(topic: str) -> bool:
        if not names:
            return is_of_table(server, topic)
        return any(topic == name or _is_table(server, topic, name) for name in names)

    return may_be


def chosen(server: str, names: Sequence[str], there: Collection[str]) -> list[str]:
    """Return the topics that are meant; one that is not there is an error."""
    if not names:
        return sorted(topic for topic in there if is_of_table(server, topic))
    return sorted({topic for name in names for topic in _named(server, name, there)})


def called(server: str, topics: Collection[str]) -> Callable[[str], str]:
    """Return what topics are called: schema.table, with the database where there are several."""
    databases = {topic.split(".")[1] for topic in topics if is_of_table(server, topic)}
    begin = 1 if len(databases) > 1 else 2

    def call(topic: str) -> str:
        return ".".join(topic.split(".")[begin:]) if is_of_table(server, topic) else topic

    return call


def _named(server: str, name: str, there: Collection[str]) -> Iterator[str]:
    found = [name] if name in there else [topic for topic in there if _is_table(server, topic, name)]
    if not found:
        raise NO_TOPIC(name=name)
    yield from found


def _is_table(server: str, topic: str, name: str) -> bool:
    return is_of_table(server, topic) and topic.endswith("." + _ODD.sub("_", name)) and "." in name
