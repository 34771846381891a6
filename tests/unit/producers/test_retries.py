"""How long a task that fails is tried again."""

import pytest

from wrackline.producers.task.retries import GIVEN_UP, Retries
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.schemas.errors import OperatorNeeded, Transient

AWAY = Transient("pg.unreachable", "the server is away", "")
KAFKA, REGISTRY = Transient("kafka.unreachable", "", ""), Transient("registry.unreachable", "", "")
A_MINUTE = TaskLimits(most_seconds=60.0)


def tried(*errors: tuple[float, Transient], limits: TaskLimits = A_MINUTE) -> Retries:
    retries = Retries()
    for now, error in errors:
        retries = retries.failed(error, now, limits)
    return retries


def test_a_task_is_given_up_after_the_set_time_and_an_operator_is_told_why() -> None:
    assert tried((5, AWAY), (64, AWAY)).tries == 2
    with pytest.raises(OperatorNeeded, match="failed for 60 s") as given_up:
        tried((5, AWAY), (64, AWAY), (65, AWAY))
    assert given_up.value.code == GIVEN_UP.code
    assert "the server is away [pg.unreachable]" in given_up.value.sentence


def test_the_time_begins_with_the_first_failure_and_not_with_the_newest() -> None:
    with pytest.raises(OperatorNeeded):
        tried(*[(float(second), AWAY) for second in range(0, 61, 10)])


@pytest.mark.parametrize("outage", [KAFKA, REGISTRY])
def test_an_outage_of_kafka_or_the_registry_is_waited_for_and_its_time_does_not_count(
    outage: Transient,
) -> None:
    assert tried((0, outage), (1e6, outage)).tries == 2
    assert tried((0, AWAY), (50, outage), (1000, AWAY), (1059, AWAY)).tries == 4
    with pytest.raises(OperatorNeeded):
        tried((0, outage), (1000, AWAY), (1060, AWAY))


def test_without_a_limit_it_is_tried_for_ever() -> None:
    assert tried((0, AWAY), (1e9, AWAY), limits=TaskLimits()).tries == 2


def test_tries_are_counted_whatever_fails() -> None:
    limits = TaskLimits(most_tries=1)
    assert tried((0, KAFKA), limits=limits).tries == 1
    with pytest.raises(Transient) as last:
        tried((0, KAFKA), (0, AWAY), limits=limits)
    assert last.value is AWAY
