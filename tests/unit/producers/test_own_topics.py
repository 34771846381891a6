"""No two tables write into one topic, whichever of them comes first."""

from dataclasses import replace

import pytest

from tests.unit.producers.test_set_aside import PARTITION, AskedSource, opened
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.snapshot.table_state import TableState, render_state
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import TableId
from wrackline.testing.sources.source_world import orders

PLAIN, DOTTED, OTHER = (TableId("d", "public", name) for name in ("a_b", "a.b", "c"))
TOPIC = "shop.d.public.a_b"


def test_rivals_that_are_both_new_are_refused_and_their_neighbour_is_not() -> None:
    topics = TableTopics("shop", Naming.WRACKLINE)
    refused = topics.settle([], [PLAIN, DOTTED, OTHER])
    assert {table: error.code for table, error in refused.items()} == {
        PLAIN: "topic.collision",
        DOTTED: "topic.collision",
    }
    assert topics.of(OTHER) == "shop.d.public.c"
    for rival in (PLAIN, DOTTED):
        with pytest.raises(OperatorNeeded, match=r"topic.collision"):
            topics.of(rival)


def test_a_table_that_wrote_to_a_topic_before_a_restart_continues() -> None:
    topics = TableTopics("shop", Naming.WRACKLINE)
    assert list(topics.settle([DOTTED, OTHER], [PLAIN])) == [PLAIN]
    assert topics.of(DOTTED) == TOPIC


def test_a_table_that_comes_later_has_a_topic_unless_it_is_taken() -> None:
    topics = TableTopics("shop", Naming.WRACKLINE)
    assert not topics.settle([], [PLAIN])
    assert topics.of(OTHER) == "shop.d.public.c"
    with pytest.raises(OperatorNeeded, match=r"topic.collision"):
        topics.of(DOTTED)
    assert topics.of(PLAIN) == TOPIC


def test_one_that_is_left_alone_has_its_topic_when_the_log_is_opened_again() -> None:
    topics = TableTopics("shop", Naming.WRACKLINE)
    topics.settle([], [PLAIN, DOTTED])
    assert not topics.settle([], [PLAIN])
    assert topics.of(PLAIN) == TOPIC


def test_a_refused_newcomer_whose_state_was_saved_does_not_take_the_owner_with_it() -> None:
    plain, dotted = (table._replace(database=PARTITION.database) for table in (PLAIN, DOTTED))
    owner, newcomer = TableState(shape=replace(orders(PARTITION), id=dotted)), TableState()
    lane = opened(AskedSource(plain, dotted), {plain: render_state(newcomer), dotted: render_state(owner)})
    assert [fault.table for fault in lane.refused] == [plain]
