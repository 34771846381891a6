"""Between two lines of a COPY the clock is looked at, however long the server is silent."""

import pytest
from psycopg import waiting

from wrackline.producers.sources.postgres.chunks.copy_lines import _more


class Wire:
    """A connection on which something came."""

    def __init__(self) -> None:
        self.consumed = 0

    def consume_input(self) -> None:
        self.consumed += 1


def test_a_silent_server_does_not_outlast_the_end() -> None:
    wire, looks = Wire(), iter([False, False, True])
    steps = _more(wire, lambda: next(looks))  # type: ignore[arg-type]  # all that it asks of a connection
    assert next(steps) is waiting.Wait.R
    said = [steps.send(waiting.Ready.NONE), steps.send(waiting.Ready.NONE)]
    assert said == [waiting.Wait.R] * 2
    with pytest.raises(StopIteration) as over:
        steps.send(waiting.Ready.NONE)
    assert (over.value.value, wire.consumed) == (False, 0)


def test_what_came_is_taken() -> None:
    wire = Wire()
    steps = _more(wire, lambda: False)  # type: ignore[arg-type]  # as above
    next(steps)
    with pytest.raises(StopIteration) as over:
        steps.send(waiting.Ready.R)
    assert (over.value.value, wire.consumed) == (True, 1)
