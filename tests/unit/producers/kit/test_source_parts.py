"""What a source keeps for its callers: the connection that it lends, and what they have left open."""

import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, cast

import pytest

from wrackline.producers.kit.lent_connection import LentConnection, UnusedConnections
from wrackline.producers.kit.open_handles import OpenHandles

SOON = 0.05  # seconds


class Session:
    """A connection that must not be closed twice, as PyMySQL's."""

    def __init__(self) -> None:
        self.open = True

    def close(self) -> None:
        assert self.open, "closed twice"
        self.open = False


class DriverError(Exception):
    pass


class OurError(Exception):
    pass


@contextmanager
def translated(session: Session, action: str) -> Iterator[None]:
    try:
        yield
    except DriverError:
        session.close()
        raise OurError(f"the server did not {action}") from None


class Lender:
    def __init__(self, unused: UnusedConnections | None = None) -> None:
        self.made: list[Session] = []
        self.lent = LentConnection(self.connect, lambda one: one.open, translated, unused)

    def connect(self) -> Session:
        self.made.append(Session())
        return self.made[-1]

    @property
    def open(self) -> int:
        return sum(one.open for one in self.made)


def test_a_connection_is_opened_when_it_is_needed_and_lent_again() -> None:
    lender = Lender()
    assert lender.made == []
    with lender.lent.lend() as first:
        pass
    with lender.lent.lend() as second:
        assert second is first
    assert lender.made == [first]


def test_a_connection_that_was_lost_is_reported_once_and_opened_again() -> None:
    lender = Lender()
    with pytest.raises(OurError, match="did not answer about its catalogue"), lender.lent.lend() as lost:
        raise DriverError
    with lender.lent.lend() as session:
        assert session.open
    assert lender.made == [lost, session]


def test_one_caller_at_a_time_has_it() -> None:
    lender, holds, ends = Lender(), Event(), Event()

    def hold() -> None:
        with lender.lent.lend():
            holds.set()
            assert ends.wait(20)

    def use() -> bool:
        with lender.lent.lend():
            return ends.is_set()

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(hold)
        assert holds.wait(20)
        second, closes = pool.submit(use), pool.submit(lender.lent.close)
        for waits in (second, closes):
            with pytest.raises(TimeoutError):
                waits.result(0.1)
        ends.set()
        first.result(20)
        assert second.result(20)
        closes.result(20)


def test_a_failed_caller_gives_it_back() -> None:
    lender = Lender()
    with pytest.raises(ValueError, match="its own"), lender.lent.lend():
        raise ValueError("its own")
    with lender.lent.lend() as session:
        assert lender.made == [session]


def test_a_lent_connection_is_closed_once_and_may_be_opened_again() -> None:
    lender = Lender()
    lender.lent.close()
    with lender.lent.lend() as session:
        pass
    lender.lent.close()
    lender.lent.close()
    assert not session.open
    with lender.lent.lend() as another:
        another.close()
    lender.lent.close()
    assert len(lender.made) == 2


def sharing(most: int, count: int) -> list[Lender]:
    unused = UnusedConnections()
    unused.most = most
    return [Lender(unused) for _ in range(count)]


def use(lender: Lender) -> None:
    with lender.lent.lend():
        pass


def test_of_connections_that_nobody_uses_those_that_were_used_last_stay_open() -> None:
    first, second, third = lenders = sharing(2, 3)
    for lender in lenders:
        use(lender)
    assert [one.open for one in lenders] == [0, 1, 1]
    use(second)
    use(first)
    assert [one.open for one in lenders] == [1, 1, 0]
    assert [len(one.made) for one in (first, second, third)] == [2, 1, 1]


def test_a_connection_that_somebody_has_is_not_closed_and_takes_no_place() -> None:
    first, second, third = lenders = sharing(1, 3)
    use(first)
    with first.lent.lend() as session:
        use(second)
        assert session.open
        assert second.open == 1
        use(third)
        assert [one.open for one in lenders] == [1, 0, 1]
    assert [one.open for one in lenders] == [1, 0, 0]


def test_what_somebody_takes_just_when_it_is_too_many_stays_open() -> None:
    first, _ = sharing(1, 2)
    with first.lent.lend() as session:
        first.lent.close_unused()
        assert session.open


def test_a_connection_that_was_not_made_or_is_lost_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = lenders = sharing(1, 3)

    def fail(*_: object) -> Session:
        raise DriverError

    monkeypatch.setattr(second.lent, "_connect", fail)
    use(first)
    with pytest.raises(DriverError):
        use(second)
    assert first.open == 1
    monkeypatch.setattr(first.made[0], "close", fail)
    use(third)  # the first one can't be closed, which is no error of the third one
    assert third.open == 1
    with pytest.raises(OurError), third.lent.lend():
        raise DriverError
    use(third)
    assert [len(one.made) for one in lenders] == [1, 0, 2]


class Handle:
    """A stream or a reader; `order` has those that were closed."""

    def __init__(self, order: list[str], name: str, error: Exception | None = None) -> None:
        self._order, self._name, self._error = order, name, error
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self._order.append(self._name)
        if self._error is not None:
            raise self._error


def handles(order: list[str], *names: str, error: Exception | None = None) -> Sequence[Any]:
    return [cast("Any", Handle(order, name, error)) for name in names]


def test_what_is_left_open_is_closed_with_the_source_streams_first() -> None:
    opened, order = OpenHandles(), list[str]()
    reader, stream = handles(order, "reader", "stream")
    assert opened.keep_reader(reader) is reader
    assert opened.keep_stream(stream) is stream
    opened.close()
    assert order == ["stream", "reader"]


def test_a_reader_that_was_closed_is_forgotten_when_another_is_opened() -> None:
    opened, order = OpenHandles(), list[str]()
    first, second = handles(order, "first", "second")
    opened.keep_reader(first)
    first.close()
    opened.keep_reader(second)
    opened.close()
    assert order == ["first", "second"]


def test_a_reader_that_is_dropped_is_closed_and_a_stream_that_is_dropped_is_not_kept() -> None:
    opened, order = OpenHandles(), list[str]()
    opened.keep_reader(handles(order, "reader")[0])
    opened.keep_stream(handles(order, "stream")[0])
    gc.collect()
    opened.close()
    assert order == ["reader"]


def test_an_error_of_one_leaves_no_other_open() -> None:
    opened, order = OpenHandles(), list[str]()
    first, second = handles(order, "first", "second", error=OurError("no end"))
    opened.keep_reader(first)
    opened.keep_stream(second)
    with pytest.raises(OurError, match="no end"):
        opened.close()
    assert order == ["second", "first"]


def test_readers_that_are_opened_at_the_same_time_are_both_kept() -> None:
    opened, order = OpenHandles(), list[str]()
    second, third = handles(order, "second", "third")
    threads: list[Thread] = []

    class Slow(Handle):
        """A reader; while it is looked at for the first time, another thread opens one."""

        @property
        def closed(self) -> bool:
            if not threads:
                threads.append(Thread(target=opened.keep_reader, args=[third]))
                threads[0].start()
                threads[0].join(SOON)
            return False

        @closed.setter
        def closed(self, _: bool) -> None:
            """It stays open."""

    opened.keep_reader(cast("Any", Slow(order, "first")))
    opened.keep_reader(second)
    threads[0].join(20)
    opened.close()
    assert set(order) == {"first", "second", "third"}
