"""Databases that are dealt again, on a real broker: nothing is lost or published twice, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.kafka.deals import Owner
from tests.integration.kafka.world import PATIENCE, until, values
from wrackline.control.local.stack.servers import Broker
from wrackline.producers import failpoints
from wrackline.producers.kafka.takeover import DEAL_PASSED
from wrackline.schemas.pipelines.deal import Deal, TaskShare, shares_of

NAMES = ("a", "b", "c", "d", "e")


@contextmanager
def running(kafka: Broker, prefix: str, deal: Deal) -> Iterator[Sequence[Owner]]:
    """Run all tasks of a deal; they are stopped when the block is left."""
    owners = [Owner(kafka.bootstrap, prefix, TaskShare(deal, task)) for task in range(deal.tasks)]
    threads = [threading.Thread(target=owner.run, daemon=True) for owner in owners]
    try:
        for thread in threads:
            thread.start()
        yield owners
    finally:
        for owner in owners:
            owner.stopping.set()
        for thread in threads:
            thread.join(PATIENCE)


def killed(kafka: Broker, prefix: str, deal: Deal, task: int, place: str) -> int:
    """Let a task take over in a process that is killed there; return how it ended."""
    told = {"bootstrap": kafka.bootstrap, "prefix": prefix, "names": NAMES, "tasks": deal.tasks}
    command = [sys.executable, "-m", "tests.integration.kafka.deals"]
    process = subprocess.run(
        [*command, json.dumps({**told, "number": deal.number, "task": task})],
        env={**os.environ, failpoints.VARIABLE: f"{place}=kill"},
        cwd=Path(__file__).parents[3],
        timeout=PATIENCE,
        check=False,
    )
    return process.returncode


def progress(owners: Sequence[Owner]) -> None:
    before = [owner.published for owner in owners]
    until(
        lambda: all(one.published > count + 5 for one, count in zip(owners, before, strict=True)),
        "each task publishes",
    )


@pytest.mark.parametrize(
    "place",
    [
        "before_adopt",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in failpoints.TAKEOVER
            if name != "before_adopt"
        ),
    ],
)
def test_databases_move_exactly_once_whoever_is_killed_on_the_way(
    kafka: Broker, topic_prefix: str, place: str
) -> None:
    """T-E22."""
    old, new = Deal(1, shares_of(NAMES, 2)), Deal(2, shares_of(NAMES, 3))
    with running(kafka, topic_prefix, old) as before:
        progress(before)
        assert killed(kafka, topic_prefix, new, 1, place) == -signal.SIGKILL, f"{place} was not reached"
        with running(kafka, topic_prefix, new) as after:
            progress(after)
            until(lambda: all(one.ended for one in before), "the older tasks end by themselves")
        assert [one.ended for one in after] == [""] * 3
    assert {one.ended for one in before} <= {"kafka.superseded", DEAL_PASSED.code}
    whole = Deal(3, shares_of(NAMES, 1))
    with running(kafka, topic_prefix, whole) as last:  # the partitions of tasks that went are read too
        progress(last)
    for name in NAMES:
        published = values(kafka.bootstrap, f"{topic_prefix}.{name}")
        assert published == [str(number) for number in range(len(published))], name
        assert published


@pytest.mark.full  # the simulation of deals has the same moves
def test_a_database_that_moves_twice_and_is_left_out_for_a_while_continues(
    kafka: Broker, topic_prefix: str
) -> None:
    """T-E22."""
    first, second, third = (Deal(one, shares_of(NAMES, tasks)) for one, tasks in ((1, 2), (2, 3), (3, 1)))
    with running(kafka, topic_prefix, first) as before:
        progress(before)
        with running(kafka, topic_prefix, second) as between, running(kafka, topic_prefix, third) as after:
            progress(after)  # nobody has waited for the deal between
            until(lambda: all(one.ended for one in [*before, *between]), "the older tasks end by themselves")
            assert [one.ended for one in after] == [""]
    rest = Deal(4, shares_of([name for name in NAMES if name != "b"], 2))
    with running(kafka, topic_prefix, rest) as without:
        left = len(values(kafka.bootstrap, f"{topic_prefix}.b"))
        progress(without)
        assert len(values(kafka.bootstrap, f"{topic_prefix}.b")) == left
    with running(kafka, topic_prefix, Deal(5, shares_of(NAMES, 4))) as again:
        progress(again)
        until(lambda: len(values(kafka.bootstrap, f"{topic_prefix}.b")) > left, "the database continues")
    for name in NAMES:
        published = values(kafka.bootstrap, f"{topic_prefix}.{name}")
        assert published == [str(number) for number in range(len(published))], name
