"""A PostgreSQL position as operators see and move it."""

import pytest

from wrackline.producers.sources.postgres.log.position import POSITION_UNREADABLE, PgHistory, PgPosition
from wrackline.producers.sources.postgres.log.slot_health import anew, begins, fresh_epoch, place
from wrackline.schemas.errors import Definite

HISTORY = PgHistory("7", 1, "s")


def position(epoch: int, done: int = 0) -> PgPosition:
    return PgPosition(epoch, 0x1_0000_00AB, done, 0x1_0000_00AB, HISTORY)


def test_a_position_reads_as_the_server_writes_it() -> None:
    assert place(position(2).saved(), "s") == "1/AB (epoch 2)"
    assert place(position(2, done=3).saved(), "s") == "1/AB (epoch 2, 3 changes into its transaction)"
    assert place({"epoch": 4}, "s") == "the slot's own position (epoch 4)"
    with pytest.raises(Definite) as faulty:
        place({"lsn": "0/1"}, "s")
    assert faulty.value.code == POSITION_UNREADABLE.code


@pytest.mark.parametrize(
    ("saved", "newest", "epoch"),
    [(1, None, 2), (1, 3, 4), (3, 1, 4), (None, 2, 3), (None, None, 1)],
)
def test_starting_over_takes_an_epoch_in_which_nothing_was_published(
    saved: int | None, newest: int | None, epoch: int
) -> None:
    made = anew(
        None if saved is None else position(saved).saved(),
        None if newest is None else position(newest).saved(),
        "s",
    )
    named = {"slot": "s", "system": "7"} if newest is not None else {}
    assert made == ({"epoch": epoch, **named} if saved is None else position(epoch).saved())


def test_a_fresh_position_names_the_slot_only_if_the_position_before_it_did() -> None:
    assert anew(None, None, "s") == {"epoch": 1}, "a reset does not make another pipeline's slot one's own"
    assert anew(None, position(1).saved(), "another") == {"epoch": 2}
    assert anew(None, {"epoch": 1}, "s") == {"epoch": 2}
    fresh = anew(None, position(1).saved(), "s")
    assert fresh == {"epoch": 2, "slot": "s", "system": "7"}
    assert fresh_epoch(fresh) == 2
    assert anew(None, fresh, "s") == {**fresh, "epoch": 3}


def test_an_epoch_alone_says_nothing_of_a_place() -> None:
    assert begins({"epoch": 4}, "s") is None
    assert fresh_epoch({"epoch": 4}) == 4
    assert begins(position(1).saved(), "s") == position(1)
    assert fresh_epoch(position(1).saved()) is None
