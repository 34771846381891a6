"""A channel that is closed while nothing is there loses no request, and takes none twice without need."""

import threading
import time
from collections.abc import Callable
from typing import cast

import pytest

from wrackline.producers.reading import resting_channel
from wrackline.producers.reading.request_intake import Read
from wrackline.producers.reading.resting_channel import RestingChannel
from wrackline.schemas.errors import Transient, WracklineError, define

REFUSED = define("test.signals_refused", Transient, "it is refused", hint="wait")


class Topic:
    """A topic of numbers, the offset of a group, and the channels that were opened."""

    def __init__(self) -> None:
        self.messages: list[int] = []
        self.committed = 0
        self.opened = self.closed = 0
        self.known = True  # where it ends
        self.now = 0.0

    def end(self) -> int | None:
        return len(self.messages) if self.known else None

    def open(self) -> "Channel":
        self.opened += 1
        return Channel(self)

    def channel(self) -> RestingChannel:
        return RestingChannel(self.open, self.end, lambda: self.now)


class Channel:
    """A reader of the topic, which takes one message at a time."""

    def __init__(self, topic: Topic) -> None:
        self._topic, self._at, self.heard = topic, topic.committed, False
        self.place: int | None = None

    def take(self) -> list[Read | WracklineError]:
        if self._at == len(self._topic.messages):
            self.place, self.heard = self._at, True
            return []
        self.place, self._at = None, self._at + 1
        number = self._topic.messages[self._at - 1]
        return [REFUSED() if number < 0 else cast("Read", number)]

    def commit(self) -> None:
        self._topic.committed = self._at

    def close(self) -> None:
        self._topic.closed += 1


def opened(topic: Topic) -> RestingChannel:
    """Make a channel that is open, and will find that there is nothing."""
    topic.messages, topic.committed = [6], 1
    channel = topic.channel()
    takes(channel, lambda: channel._opening is not None and channel._opening.done())
    return channel


def takes(channel: RestingChannel, until: Callable[[], bool]) -> list[object]:
    found: list[object] = []
    deadline = time.monotonic() + 10
    while not until():
        found += channel.take()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return found


def test_it_is_opened_when_something_comes_and_closed_once_nothing_is_there() -> None:
    topic = Topic()
    channel = topic.channel()
    assert not channel.heard
    for _ in range(20):
        topic.now += 10.0
        assert channel.take() == ()
    assert (topic.opened, channel.heard) == (0, True)
    for times in (1, 2):
        topic.messages += [7, 8]
        found: list[object] = []
        found += takes(channel, lambda times=times: topic.opened == times and not channel.heard)  # type: ignore[misc]
        found += [*channel.take(), *channel.take()]
        assert found == [7, 8]
        channel.commit()
        takes(channel, lambda times=times: topic.closed == times)  # type: ignore[misc]
        assert topic.committed == 2 * times
        topic.now += 10.0


def test_what_was_there_at_first_is_taken_at_once() -> None:
    topic = Topic()
    topic.messages += [7]
    channel = topic.channel()
    assert takes(channel, lambda: topic.opened == 1 and channel.heard) == [7]


def test_it_is_opened_if_nothing_becomes_known_of_the_end_of_the_topic() -> None:
    topic = Topic()
    topic.known = False
    channel = topic.channel()
    for _ in range(20):
        assert channel.take() == ()
    assert (topic.opened, channel.heard) == (0, False)
    topic.now += resting_channel._SILENCE_S
    takes(channel, lambda: topic.opened == 1 and channel.heard)


def test_it_stays_open_while_kafka_does_not_have_the_results() -> None:
    topic = Topic()
    channel = opened(topic)
    topic.messages += [7]
    for _ in range(20):
        channel.take()
    assert topic.closed == 0
    channel.commit()
    takes(channel, lambda: topic.closed == 1)
    assert (topic.committed, topic.opened) == (2, 1)


def test_what_came_before_it_was_closed_is_not_left() -> None:
    """The channel has not seen yet what the topic's end shows."""
    topic = Topic()
    takes_first, gone = Channel.take, [6]

    def take(self: Channel) -> list[Read | WracklineError]:
        found = takes_first(self)
        if topic.messages == gone:
            topic.messages.append(7)  # just after the channel has looked
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Channel, "take", take)
        channel = opened(topic)
        assert takes(channel, lambda: topic.messages != gone) == []
        found: list[object] = [*channel.take()]
        assert found == [7]
    assert topic.opened == 1


@pytest.mark.parametrize("known", [False, True])
def test_it_is_not_closed_where_the_end_of_the_topic_is_not_known(*, known: bool) -> None:
    topic = Topic()
    channel = opened(topic)
    topic.known = known
    for _ in range(20):
        channel.take()
    assert (channel._channel is None) == known


def test_a_refusal_is_reported_and_is_no_result() -> None:
    topic = Topic()
    topic.messages += [-1]
    channel = topic.channel()
    (refused,) = takes(channel, lambda: topic.closed == 1)
    assert isinstance(refused, WracklineError)


def test_it_is_not_opened_again_at_once() -> None:
    """A transaction that is open lets the topic end behind what a reader sees."""
    topic = Topic()
    channel = opened(topic)
    takes(channel, lambda: topic.closed == 1)
    topic.messages += [7]
    for _ in range(20):
        channel.take()
    assert topic.opened == 1
    topic.now += resting_channel._REST_S
    takes(channel, lambda: topic.opened == 2)


def test_one_that_is_being_opened_is_closed_when_it_is_open() -> None:
    topic = Topic()
    channel = opened(topic)
    takes(channel, lambda: topic.closed == 1)
    may, opens = threading.Event(), topic.open

    def open_late() -> Channel:
        assert may.wait(10)
        return opens()

    channel._opens = open_late
    topic.messages += [7]
    topic.now += 10.0
    takes(channel, lambda: channel._opening is not None)
    channel.close()
    may.set()
    takes(channel, lambda: topic.closed == 2)


def test_a_topic_that_was_created_again_is_read_though_it_is_shorter_now() -> None:
    topic = Topic()
    topic.messages, topic.committed = [6, 6, 6], 3
    channel = topic.channel()
    takes(channel, lambda: topic.closed == 1)
    topic.messages, topic.committed = [7], 0
    topic.now += resting_channel._REST_S
    assert takes(channel, lambda: channel._channel is not None) == [7]
