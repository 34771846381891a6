"""A task obeys what its pipeline's settings say."""

import pytest

from tests.unit.settings.shop import GOOD, checked
from wrackline.producers import assembly
from wrackline.producers.pace import Limits
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId


def values(**given: str) -> Values:
    found = checked({**GOOD, **given}).values
    assert found is not None
    return found


def test_tries_and_waits_are_the_settings() -> None:
    given = {"errors.max.retries": "3", "retriable.restart.connector.wait.ms": "250"}
    limits = assembly.limits(values(**given))
    assert (limits.most_tries, limits.longest_wait) == (3, 0.25)
    assert assembly.limits(values()) == Limits()


def test_new_subjects_get_the_compatibility_that_was_asked_for() -> None:
    assert assembly._access(values()).compatibility == "NONE"
    given = {"schema.registry.compatibility": "BACKWARD"}
    assert assembly._access(values(**given)).compatibility == "BACKWARD"


def test_tables_that_would_write_into_one_topic_are_refused_at_the_start_and_later() -> None:
    tables = [TableId("d", "public", name) for name in ("a_b", "c")]
    dotted = TableId("d", "public", "a.b")
    with pytest.raises(OperatorNeeded, match=r"topic.collision"):
        assembly._OwnTopics("shop").give([*tables, dotted])
    topics = assembly._OwnTopics("shop")
    topics.give(tables)
    assert topics.of(TableId("d", "public", "later")) == "shop.d.public.later"
    with pytest.raises(OperatorNeeded, match=r"topic.collision"):
        topics.of(dotted)
    assert topics.of(tables[0]) == "shop.d.public.a_b", "who wrote to it before goes on"
