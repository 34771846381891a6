"""COPY, which writes many rows under one place of the log, with the task killed while they are published."""

import pytest

from tests.integration.running.copies import told
from tests.integration.running.world import World
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers

ROWS = 5_000


def test_rows_of_one_copy_are_there_once_and_in_order_though_the_task_is_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-P03."""
    assert world.run().stop() == Exit.OK  # the slot and the first position are there
    (before,) = world.sql.execute("SELECT pg_current_wal_lsn()").fetchone() or ()
    with world.sql.cursor() as cursor, cursor.copy("COPY orders FROM STDIN") as copy:
        copy.write("".join(f"{number}\tn\n" for number in range(ROWS)))
    confirmed = "SELECT confirmed_flush_lsn <= %s FROM pg_replication_slots WHERE slot_name = %s"
    for armed, published in (("before_commit=kill@2", 0), ("before_confirm=kill@1", ROWS)):
        monkeypatch.setenv(failpoints.VARIABLE, armed)
        assert world.run(ready="").process.wait(60) < 0, world.started[-1].output
        assert len(world.events()) == published
        assert world.sql.execute(confirmed, [before, world.slot]).fetchone() == (True,), "not confirmed"
    monkeypatch.delenv(failpoints.VARIABLE)
    world.run()
    world.insert(ROWS, ROWS)
    world.arrived(ROWS + 1)
    events = told(world)
    assert [row for _, row, _ in events] == [*range(ROWS + 1)]
    seqs = [seq for _, _, seq in events]
    assert sorted(set(seqs)) == seqs
