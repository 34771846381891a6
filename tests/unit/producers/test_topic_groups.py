"""Which group a topic belongs to, and how `topic.creation.*` says that its topics are made."""

import re

from tests.unit.producers.test_assembly import values
from wrackline.producers.kafka.topic_creation import TopicCreation, TopicGroup, read_creation


def test_a_topic_belongs_to_the_first_group_that_takes_it() -> None:
    wide = TopicGroup(
        3, include=(re.compile("a.*"), re.compile("b")), exclude=(re.compile("ax"), re.compile("ay"))
    )
    later = TopicGroup(4, include=(re.compile("a.*"),))
    made = TopicCreation(TopicGroup(2), (wide, later))
    found = {topic: made.of(topic).partitions for topic in ("ab", "b", "bb", "ax", "ay", "c")}
    assert found == {"ab": 3, "b": 3, "bb": 2, "ax": 4, "ay": 4, "c": 2}


def test_groups_are_as_they_are_written_and_else_as_the_default() -> None:
    given = {
        "topic.creation.default.partitions": "2",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.retention.ms": "1000",
        "topic.creation.groups": "wide,plain",
        "topic.creation.wide.include": "a.*,b",
        "topic.creation.wide.exclude": "ax",
        "topic.creation.wide.partitions": "5",
        "topic.creation.wide.replication.factor": "3",
        "topic.creation.wide.cleanup.policy": "compact",
        "topic.creation.plain.include": "c",
    }
    made = read_creation(values(**given))
    assert (made.default.partitions, made.default.replication, made.default.config) == (
        2,
        1,
        {"retention.ms": "1000"},
    )
    wide, plain = made.groups
    assert (wide.partitions, wide.replication) == (5, 3)
    assert wide.config == {"retention.ms": "1000", "cleanup.policy": "compact"}
    assert [p.pattern for p in wide.include] == ["a.*", "b"]
    assert [p.pattern for p in wide.exclude] == ["ax"]
    assert (plain.partitions, plain.replication, plain.config) == (2, 1, {"retention.ms": "1000"})
    assert plain.exclude == ()


def test_by_default_there_is_one_partition() -> None:
    assert read_creation(values()) == TopicCreation(TopicGroup(1, -1))
