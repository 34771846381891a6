"""A channel of requests that is closed while nothing is there.

    closed -> the topic has grown -> opened -> all is taken, and Kafka has the results -> closed -> ...

In: what opens the channel, and where its topic ends, which one reader knows for all databases of a task.
Out: the same channel, without a reader of its own for each of two hundred databases of which nobody requests
anything.

Why nothing is lost: it is closed at a place before which it has taken everything, at first the topic's begin,
and is opened once the topic ends behind that place; then it continues where its offset is, which is not
behind it.
"""

import math
from collections.abc import Callable, Collection
from concurrent.futures import Future
from threading import Thread
from typing import Final, Protocol, TypeVar

from wrackline.producers.reading.request_intake import Read, RequestChannel
from wrackline.schemas.errors import WracklineError

T = TypeVar("T")

_REST_S: Final = 2.0  # from a close to an opening; what an open transaction hides lets it end later
_SILENCE_S: Final = 2.0  # after which it is opened though nothing is known of the topic's end


class PlacedChannel(RequestChannel, Protocol):
    """A channel that knows where it is."""

    @property
    def place(self) -> int | None:
        """The offset up to which all has been taken, where nothing more was there; None: elsewhere."""
        ...


class RestingChannel:
    """The channel of one database; only the task's thread calls it, but another one may make it."""

    def __init__(
        self,
        opens: Callable[[], PlacedChannel],
        end: Callable[[], int | None],
        clock: Callable[[], float],
    ) -> None:
        """Begin with a closed one; `end` is the topic's end, None if it is not known."""
        self._opens, self._end, self._clock = opens, end, clock
        self._channel: PlacedChannel | None = None
        self._opening: Future[PlacedChannel] | None = None
        self._has_results = False  # that Kafka does not have
        self._heard = False  # all that was there at first
        self._place, self._opens_at, self._known_at = 0, -math.inf, clock() + _SILENCE_S

    def take(self) -> Collection[Read | WracklineError]:
        """Take what is there; open it if there may be something, and close it if nothing is."""
        if self._opening is not None and self._opening.done():
            self._channel, self._opening = self._opening.result(), None
        if self._channel is None:
            if self._opening is None and self._is_wanted():
                self._opening = _in_thread(self._opens)
            return ()
        found = self._channel.take()
        self._has_results |= any(not isinstance(one, WracklineError) for one in found)
        place = self._channel.place
        if self._channel.heard and not self._has_results and place is not None and not self._grew(place):
            _in_thread(self._channel.close)
            self._channel, self._place, self._opens_at = None, place, self._clock() + _REST_S
            self._heard = True
        return found

    @property
    def heard(self) -> bool:
        """Whether all that was there at first has been taken, or can't be taken."""
        return self._heard if self._channel is None else self._channel.heard

    def commit(self) -> None:
        """Note that Kafka has the results of all that was taken."""
        self._has_results = False
        if self._channel is not None:
            self._channel.commit()

    def close(self) -> None:
        """Close it."""
        if self._opening is not None:
            self._opening.add_done_callback(_close_late)
        if self._channel is not None:
            self._channel.close()

    def _is_wanted(self) -> bool:
        now, end = self._clock(), self._end()
        if end is None:
            return now >= max(self._opens_at, self._known_at)
        self._heard = self._heard or end <= self._place
        return end != self._place and now >= self._opens_at  # less: the topic was created again

    def _grew(self, place: int) -> bool:
        end = self._end()
        return end is None or end > place


def _close_late(opening: Future[PlacedChannel]) -> None:
    if opening.exception() is None:
        opening.result().close()


def _in_thread(call: Callable[[], T]) -> Future[T]:
    """Call it beside the task, which it would hold up."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the result raises it
            future.set_exception(error)

    Thread(target=run, name="signals", daemon=True).start()
    return future
