"""Which topics are meant: those of all tables of a pipeline, or the named topics.

A name is a whole topic's, or a table's: schema.table, or with the database before it.  A topic of that exact
name comes first.  `control/runtime/ground/table_names.py` has the spellings.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from wrackline.control.runtime.ground.table_names import fold_name, is_named_by
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka.topic_names import Naming, is_of_table

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


def topic_filter(server: str, names: Sequence[str], naming: Naming) -> Callable[[str], bool]:
    """Return which topics may be meant."""

    def may_be(topic: str) -> bool:
        if not names:
            return is_of_table(server, topic, naming)
        return any(topic == name or _is_table(server, topic, name, naming) for name in names)

    return may_be


def choose_topics(server: str, names: Sequence[str], there: Collection[str], naming: Naming) -> list[str]:
    """Return the topics that are meant; a topic that does not exist is an error."""
    if not names:
        return sorted(topic for topic in there if is_of_table(server, topic, naming))
    return sorted({topic for name in names for topic in _topics_named(server, name, there, naming)})


def name_topics(server: str, topics: Collection[str], naming: Naming) -> Callable[[str], str]:
    """Return what topics are called: schema.table, with the database where there are several."""
    databases = {topic.split(".")[1] for topic in topics if is_of_table(server, topic, naming)}
    begin = 1 if len(databases) > 1 or naming.parts == Naming.DEBEZIUM.parts else 2

    def call(topic: str) -> str:
        return ".".join(topic.split(".")[begin:]) if is_of_table(server, topic, naming) else topic

    return call


def _topics_named(server: str, name: str, there: Collection[str], naming: Naming) -> Iterator[str]:
    found = [name] if name in there else [topic for topic in there if _is_table(server, topic, name, naming)]
    if not found:  # a dot may be the table's own
        found = [topic for one in fold_name(name) for topic in there if _is_table(server, topic, one, naming)]
    if not found:
        raise NO_TOPIC(name=name)
    yield from found


def _is_table(server: str, topic: str, name: str, naming: Naming) -> bool:
    return is_of_table(server, topic, naming) and "." in name and is_named_by(name, topic)
