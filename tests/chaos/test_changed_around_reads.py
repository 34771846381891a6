"""Rows change at every point around a chunk's marks, with the log ahead of the reader and behind it.

A process is led through its reads place by place (holds.py).  At one place of each chunk every kind of change
is made to rows of this chunk, of those before and of those after it; afterwards the topic equals the table,
column by column, and no key ever went back.
"""

import itertools
import random
from collections.abc import Sequence
from contextlib import ExitStack

import psycopg
import pytest

from tests.chaos.checks import check_all
from tests.chaos.conftest import Opened
from tests.chaos.fold import equal
from tests.chaos.holds import Held, Holds, log_is_sent, silent_log
from tests.chaos.marks import NOT_OF_ROWS
from tests.chaos.world import World
from tests.chaos.writers import Session

pytestmark = pytest.mark.servers

CHUNK = 9
APART = 1_000  # between two keys, so that there is room for those that come
_STUCK = 1.0  # seconds
_OVER = 5.0
WIDE = 2_500  # bytes of a note that the log leaves out where it did not change

# what is done to the row of a key; `n` grows with each change, and the note stays where it is not named;
# `to` is a key behind this one that nobody had
CHANGES = {
    "insert": "INSERT INTO orders (id, note) VALUES (%(to)s, repeat('i', 2500))",
    "whole": "UPDATE orders SET n = nextval('writes'), note = 'short' WHERE id = %(id)s",
    "partial": "UPDATE orders SET n = nextval('writes') WHERE id = %(id)s",
    "twice": "partial; partial",
    "delete": "DELETE FROM orders WHERE id = %(id)s",
    "again": "delete; INSERT INTO orders (id, note) VALUES (%(id)s, 'again')",
    "move": "UPDATE orders SET id = %(to)s, n = nextval('writes') WHERE id = %(id)s",
    "move_whole": "UPDATE orders SET id = %(to)s, n = nextval('writes'), note = 'moved' WHERE id = %(id)s",
    "away_and_back": "move; UPDATE orders SET id = %(id)s, n = nextval('writes') WHERE id = %(to)s",
    "moved_and_used_again": "move; INSERT INTO orders (id, note) VALUES (%(id)s, 'another')",
    "far_ahead": "UPDATE orders SET id = %(to)s + 500000, n = nextval('writes') WHERE id = %(id)s",
    "from_far_ahead": "UPDATE orders SET id = %(to)s, n = nextval('writes')"
    " WHERE id = (SELECT max(id) FROM orders)",
    "from_behind": "UPDATE orders SET id = %(to)s, n = nextval('writes')"
    " WHERE id = (SELECT min(id) FROM orders)",
}


@pytest.fixture
def world(read_in_chunks: Opened) -> World:
    """A table whose notes are stored apart, read in small chunks by one reader."""
    made = read_in_chunks(CHUNK, {"snapshot.max.threads": "1"})
    made.sql("ALTER TABLE orders ALTER note SET STORAGE EXTERNAL")
    return made


def fill(world: World, rows: int, note_bytes: int) -> None:
    """Insert rows, far enough apart."""
    world.sql(
        "INSERT INTO orders (id, note) SELECT i * %s, repeat('x', %s) FROM generate_series(1, %s) i",
        APART,
        note_bytes,
        rows,
    )


def statements(kind: str) -> list[str]:
    """A change's statements, each by itself."""
    found = []
    for one in CHANGES[kind].split(";"):
        found += statements(one.strip()) if one.strip() in CHANGES else [one]
    return found


_steps = itertools.count(1)


def change(session: Session, kind: str, key: int, chance: random.Random) -> None:
    """Make one kind of change, in a transaction or in one for each statement; or try to and undo it."""
    argument = {"id": key, "to": key - key % APART + 1 + next(_steps) % (APART - 1)}
    made = [one.encode() for one in statements(kind)]
    if chance.random() < 0.5:
        for one in made:
            session.execute(one, argument)
        return
    with session.transaction():
        for one in made:
            session.execute(one, argument)
        if chance.random() < 0.1:
            raise psycopg.Rollback


class Reads:
    """Leads the reads of one table, some of a range of its keys and some of single keys that are missing."""

    def __init__(self, world: World, holds: Holds, session: Session, chance: random.Random) -> None:
        self._world, self._holds, self._session, self._chance = world, holds, session, chance

    def lead(self, plan: Sequence[tuple[str, bool]]) -> int:
        """Change rows at each place of the plan, in both kinds of reads; the log is behind them or ahead.

        Return how many reads of single keys there were too few.
        """
        of_range, of_keys = list(plan), list(plan)
        at, behind, read = "", False, Held("")
        with ExitStack() as log:
            while of_range or of_keys or at:
                if behind and not self._holds.comes(_STUCK):
                    log.close()  # it fell silent inside a transaction, where nothing is read
                if not of_range and not self._holds.comes(_OVER):
                    break  # nothing is left to be read
                place, held = self._holds.next()
                if place == "before_gate":
                    log.close()  # the chunk before it has come
                    read, left = held, of_keys if held.only else of_range
                    if left and not at:
                        at, behind = left.pop(0)
                    if behind:
                        log.enter_context(silent_log(self._world))
                if place == at:
                    self._change_all(read)
                    if not behind:
                        log_is_sent(self._world)
                    at, behind = "", False
                self._holds.let_go(place)
        self._holds.all_go()
        return len(of_keys)

    def _change_all(self, read: Held) -> None:
        kinds = list(CHANGES)
        self._chance.shuffle(kinds)
        keys = list(read.only) or self._behind(read.after, CHUNK)
        self._chance.shuffle(keys)
        for kind, key in zip(kinds, [*keys, *self._anywhere()], strict=False):
            change(self._session, kind, key, self._chance)

    def _behind(self, key: int, count: int) -> list[int]:
        """The keys that a chunk of now has."""
        question = b"SELECT id FROM orders WHERE id > %s ORDER BY id LIMIT %s"
        return [int(str(key)) for (key,) in self._session.execute(question, [key, count])]

    def _anywhere(self) -> list[int]:
        """Keys that were read long since, or will be."""
        return self._chance.sample(self._behind(0, 100_000), 6)


PLACES = ("before_gate", "after_gate", "before_select", "after_select", "after_close_mark", "before_slice")
AROUND = tuple(
    (place, behind)
    for place, behind in itertools.product(PLACES, (False, True))
    if not (behind and place == "before_slice")  # the log has passed the mark there
)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(1, 6))])
def test_changes_at_every_point_around_the_marks(world: World, seed: int) -> None:
    """T-W05."""
    chance = random.Random(seed)
    plan = [*AROUND, *AROUND]
    chance.shuffle(plan)
    fill(world, CHUNK * (len(plan) + 12), WIDE)
    holds = Holds(world)
    running = world.run(holds.armed)
    with world.session() as session:
        too_few = Reads(world, holds, session, chance).lead(plan)
    equal(world, ["orders"])
    world.caught_up()
    check_all(world, but=NOT_OF_ROWS)
    assert running.process.poll() is None
    assert not too_few


def test_changes_between_two_slices_of_a_chunk(world: World) -> None:
    chance = random.Random(3)
    fill(world, 40, 350_000)
    world.settings["incremental.snapshot.chunk.size"] = "40"
    holds = Holds(world, ("after_slice",))
    world.run(holds.armed)
    with world.session() as session:
        for _ in range(4):
            holds.next()
            kinds = list(CHANGES)
            chance.shuffle(kinds)
            for kind, place in zip(kinds, chance.sample(range(1, 41), len(kinds)), strict=True):
                change(session, kind, place * APART, chance)
            holds.let_go("after_slice")
    holds.all_go()
    equal(world, ["orders"])
    world.caught_up()
    check_all(world, but=NOT_OF_ROWS)
