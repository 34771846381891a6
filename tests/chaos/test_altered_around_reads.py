"""A table is truncated or its shape changes at every point around a chunk's marks; afterwards it is equal.

Each table is read in several chunks, and one thing happens to it at one place of one of them (holds.py).
The log reports a change of shape with the table's next row at the earliest, or never.
"""

import itertools
from collections.abc import Mapping

import pytest

from tests.chaos.conftest import Opened
from tests.chaos.fold import equal
from tests.chaos.holds import Holds
from tests.chaos.world import World
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers

ROWS, CHUNK = 17, 5
WRITE = (
    "UPDATE {0} SET id = id WHERE id IN (1, 8); INSERT INTO {0} (id, w) SELECT max(id) + 1, 'new' FROM {0}"
)
# what happens to a table `id int primary key, v int, w text`
DONE = {
    "truncated": "TRUNCATE {0}",
    "truncated_and_filled": "TRUNCATE {0}; INSERT INTO {0} (id, v) SELECT i, -i FROM generate_series(1, 9) i",
    "filled": "ALTER TABLE {0} ADD COLUMN x int DEFAULT 7; " + WRITE,
    "nullable": "ALTER TABLE {0} ADD COLUMN x int; " + WRITE,
    "dropped": "ALTER TABLE {0} DROP COLUMN v; " + WRITE,
    "renamed": "ALTER TABLE {0} RENAME COLUMN v TO vv; " + WRITE,
    "retyped": "ALTER TABLE {0} ALTER COLUMN v TYPE text USING 'v' || v; " + WRITE,
    "swapped": "ALTER TABLE {0} DROP COLUMN v, ADD COLUMN v int DEFAULT 3; " + WRITE,
    "rekeyed": "ALTER TABLE {0} DROP CONSTRAINT {0}_pkey, ADD COLUMN k int DEFAULT 1,"
    " ADD PRIMARY KEY (k, id); " + WRITE,
    "key_renamed": "ALTER TABLE {0} RENAME COLUMN id TO nr; " + WRITE.replace("id", "nr"),
}
SILENT = ("filled", "renamed", "retyped", "key_renamed")  # also where only the catalogue shows it
PLACES = failpoints.READ[:-1]


@pytest.fixture
def world(read_in_chunks: Opened) -> World:
    """Tables of which the pipeline reads all."""
    more = {"snapshot.max.threads": "1", "table.include.list": "public.(orders|t_.*)"}
    return read_in_chunks(CHUNK, more)


def lead(world: World, happens: Mapping[str, tuple[str, int, str]]) -> None:
    """Read the tables; what happens to each does so at its place, the given time that it is reached."""
    for table in happens:
        world.sql(f"CREATE TABLE {table} (id int PRIMARY KEY, v int, w text)")
        world.sql(f"INSERT INTO {table} SELECT i, i, 'w' || i FROM generate_series(1, {ROWS}) i")
    left = dict(happens)
    times: dict[tuple[str, str], int] = {}
    holds = Holds(world)
    world.run(holds.armed)
    while left:
        place, held = holds.next()
        times[place, held.table] = reached = times.get((place, held.table), 0) + 1
        at, time, statements = left.get(held.table, ("", 0, ""))
        if (place, reached) == (at, time):
            for one in statements.format(held.table).split(";"):
                world.sql(one)
            del left[held.table]
        holds.let_go(place)
    holds.all_go()
    equal(world, list(happens))


@pytest.mark.full
def test_each_happens_at_two_places(world: World) -> None:
    """T-W16, T-W23."""
    places = itertools.cycle(PLACES)
    happens = {}
    for number, (name, does) in enumerate(DONE.items()):
        happens[f"t_{name}_once_read"] = ("after_select", 1 + number % 2, does)
        happens[f"t_{name}"] = (next(places), 1 + number % 3, does)
    lead(world, happens)


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", DONE)
def test_each_happens_at_every_place(world: World, name: str) -> None:
    lead(
        world,
        {
            f"t_{place}_{time}": (place, time, DONE[name])
            for place, time in itertools.product(PLACES, (1, 2, 3))
        },
    )


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SILENT)
def test_each_happens_at_every_place_and_no_row_says_so(world: World, name: str) -> None:
    only = DONE[name].partition(";")[0]
    lead(world, {f"t_{place}": (place, 2, only) for place in PLACES})
