"""Rows change at every point around a chunk's marks, with the log ahead of the reader and behind it.

A process is led through its reads place by place (tests/chaos/holds.py).  At one place of each chunk every
kind of change is made to rows of this chunk, of those before and of those after it; afterwards the topic
folds to the table, value for value, and no key ever went back.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos.holds import Held, Holds
from tests.fixtures.tiers import alternatives
from tests.integration.mysql.log_files import ask
from tests.integration.mysql.reads_world import APART, CHANGES, ReadsWorld
from tests.integration.mysql.world import FLAVOURS
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.local.stack.stack import Stack

pytestmark = pytest.mark.servers

CHUNK = 9
MARKS = ("fence", "insert_insert")
PLACES = ("before_gate", "after_gate", "before_select", "after_select", "after_close_mark", "before_slice")
AROUND = tuple(
    (place, behind)
    for place, behind in itertools.product(PLACES, (False, True))
    if not (behind and place == "before_slice")  # the log has passed the mark there
)
_STUCK = 1.0  # seconds
_OVER = 5.0

Opened = Callable[..., ReadsWorld]


@pytest.fixture(params=alternatives(itertools.product(FLAVOURS, MARKS)), ids=" by ".join)
def opened(
    request: pytest.FixtureRequest, stack: Stack, tmp_path: Path, kafka: Broker, registry: SchemaRegistry
) -> Iterator[Opened]:
    """Open worlds whose rows are read in chunks of so many, with both kinds of marks on each server."""
    flavour, marks = request.param
    worlds: list[ReadsWorld] = []

    def made(chunk: int, **more: str) -> ReadsWorld:
        settings = {
            "incremental.snapshot.chunk.size": str(chunk),
            "incremental.snapshot.watermarking.strategy": marks,
            "snapshot.max.threads": "1",
            **more,
        }
        worlds.append(ReadsWorld(tmp_path, getattr(stack, flavour)(), kafka, registry, settings))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


def test_changes_at_every_point_around_the_marks(opened: Opened) -> None:
    world = opened(CHUNK)
    world.log.drips = True
    chance = random.Random(5)
    plan = [*AROUND]
    chance.shuffle(plan)
    world.fill(CHUNK * (len(plan) + 8), 2_500)
    holds = Holds(world)
    running = world.run(holds.armed)
    left = led(world, holds, plan, chance)
    holds.all_go()
    world.equal()
    assert running.process.poll() is None
    assert not left


def test_changes_between_two_slices_of_a_chunk(opened: Opened) -> None:
    world = opened(40)
    chance = random.Random(3)
    world.fill(40, 350_000)
    holds = Holds(world, ("after_slice",))
    world.run(holds.armed)
    for _ in range(3):
        holds.next()
        kinds = list(CHANGES)
        chance.shuffle(kinds)
        for kind, place in zip(kinds, chance.sample(range(1, 41), len(kinds)), strict=True):
            world.change(kind, place * APART, chance)
        holds.let_go("after_slice")
    holds.all_go()
    world.equal()


@pytest.mark.parametrize(
    "place", alternatives(["before_select", "after_select", "after_close_mark", "before_slice"])
)
def test_a_table_that_is_emptied_meanwhile_stays_empty_but_for_what_came_later(
    opened: Opened, place: str
) -> None:
    world = opened(CHUNK)
    world.fill(4 * CHUNK)
    holds = Holds(world, (place,))
    world.run(holds.armed)
    for _ in range(2):
        holds.next()
        holds.let_go(place)
    holds.next()
    ask(world.sql, "TRUNCATE TABLE orders")
    world.fill(3)
    holds.all_go()
    world.equal()


@pytest.mark.parametrize(
    "place", alternatives(["before_select", "after_select", "after_close_mark", "before_slice"])
)
@pytest.mark.full
def test_a_column_with_a_default_that_comes_meanwhile_is_in_every_row(opened: Opened, place: str) -> None:
    world, holds = held_in_the_second_chunk(opened, place)
    ask(world.sql, "ALTER TABLE orders ADD COLUMN due int NOT NULL DEFAULT 5 FIRST, DROP COLUMN raw")
    ask(world.sql, f"UPDATE orders SET due = 6, n = n + 1 WHERE id <= {2 * CHUNK * APART}")
    world.columns.remove("raw")
    world.columns.append("due")
    holds.all_go()
    world.equal()


@pytest.mark.parametrize(
    "place", alternatives(["before_select", "after_select", "after_close_mark", "before_slice"])
)
def test_a_column_renamed_meanwhile_is_the_same_column_in_every_row(opened: Opened, place: str) -> None:
    world, holds = held_in_the_second_chunk(opened, place)
    rename(world)
    ask(world.sql, f"UPDATE orders SET n = n + 1 WHERE id = {CHUNK * APART}")
    holds.all_go()
    world.equal()


@pytest.mark.parametrize("place", alternatives(["before_select", "after_close_mark"]))
@pytest.mark.parametrize("behind", [False, True], ids=["the log tells", "the log is behind"])
def test_a_key_column_renamed_meanwhile_has_the_rows_read_in_its_order(
    opened: Opened, place: str, *, behind: bool
) -> None:
    world, holds = held_in_the_second_chunk(opened, place)
    with ExitStack() as log:
        if behind:
            log.enter_context(world.log.silent())
        ask(world.sql, "ALTER TABLE orders RENAME COLUMN id TO nr")
        ask(world.sql, f"UPDATE orders SET n = n + 1 WHERE nr = {CHUNK * APART}")
        world.columns[world.columns.index("id")], world.first_names = "nr", {"nr": "id"}
        if behind:
            holds.let_go(place)
            holds.comes(_OVER)
    holds.all_go()
    world.equal()


@pytest.mark.full
def test_a_column_renamed_where_the_log_has_not_come_to_is_the_same_column_too(opened: Opened) -> None:
    world = opened(CHUNK)
    world.fill(2 * CHUNK)
    holds = Holds(world, ("before_select", "after_close_mark"))
    world.run(holds.armed)
    holds.next()
    with world.log.silent():
        rename(world)
        holds.let_go("before_select")
        assert holds.next()[0] == "after_close_mark"
    holds.all_go()
    world.equal()


@pytest.mark.full
@pytest.mark.parametrize("meanwhile", [False, True], ids=["it runs", "nobody looks"])
def test_a_key_that_loses_digits_leaves_no_row_of_its_old_keys(opened: Opened, *, meanwhile: bool) -> None:
    world = opened(CHUNK)
    world.fill(2 * CHUNK)
    ask(world.sql, "UPDATE orders SET at = at + INTERVAL 0.789 SECOND")
    ask(world.sql, "ALTER TABLE orders DROP PRIMARY KEY, ADD PRIMARY KEY (id, at)")
    running = world.run()
    world.equal()
    if meanwhile:
        assert running.stop() == 0
    ask(world.sql, "ALTER TABLE orders MODIFY at datetime NOT NULL DEFAULT '2026-01-01'")
    if meanwhile:
        world.run()
    world.equal()


def test_rows_read_after_a_column_was_renamed_have_it_as_the_log_has(opened: Opened) -> None:
    world = opened(CHUNK, **{"snapshot.mode": "no_data"})
    world.run()
    world.fill(2 * CHUNK)
    rename(world)
    world.came()
    world.read_anew()
    world.equal()


def held_in_the_second_chunk(opened: Opened, place: str) -> tuple[ReadsWorld, Holds]:
    """Lead a read of four chunks to a place of its second."""
    world = opened(CHUNK)
    world.fill(4 * CHUNK)
    holds = Holds(world, (place,))
    world.run(holds.armed)
    holds.next()
    holds.let_go(place)
    holds.next()
    return world, holds


def rename(world: ReadsWorld) -> None:
    """Give a column another name, in letters that the log's next statement writes otherwise."""
    ask(world.sql, "ALTER TABLE orders RENAME COLUMN note TO remark")
    ask(world.sql, "ALTER TABLE orders RENAME COLUMN REMARK TO Words")
    world.columns[world.columns.index("note")] = "Words"
    world.first_names = {"words": "note"}


def led(
    world: ReadsWorld, holds: Holds, plan: Sequence[tuple[str, bool]], chance: random.Random
) -> Sequence[tuple[str, bool]]:
    """Change rows at each place of the plan, the log being behind or ahead; return what was not met."""
    left = list(plan)
    at, behind, read = "", False, Held("")
    with ExitStack() as log:
        while left or at:
            if behind and not holds.comes(_STUCK):
                log.close()  # it fell silent where nothing more is read
            if not holds.comes(_OVER):
                break  # nothing is left to be read
            place, held = holds.next()
            if place == "before_gate":
                log.close()  # the chunk before it has come
                read = held
                if left and not at:
                    at, behind = left.pop(0)
                if behind:
                    log.enter_context(world.log.silent())
            if place == at:
                _change_all(world, read, chance)
                if not behind and place != "before_slice":  # there the log waits for us
                    world.came(lambda: holds.pass_by("before_slice", "after_slice"))
                at, behind = "", False
            holds.let_go(place)
    return [*left, *([(at, behind)] if at else [])]


def _change_all(world: ReadsWorld, read: Held, chance: random.Random) -> None:
    kinds = list(CHANGES)
    chance.shuffle(kinds)
    keys = list(read.only) or world.keys(read.after, CHUNK)
    chance.shuffle(keys)
    anywhere = chance.sample(world.keys(0, 100_000), len(kinds))
    for kind, key in zip(kinds, [*keys, *anywhere], strict=False):
        world.change(kind, key, chance)
