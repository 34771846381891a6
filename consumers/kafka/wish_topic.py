"""Follows what operators wish for single tables, while a consumer runs.

In: the topic of wishes, which may come later.  Out: the tables that are paused, and those that are to be
tried again.  Kafka may be away for a while: the wishes that are known hold until then.
"""

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.consumers.kafka.client_settings import Settings, reader_settings
from wrackline.schemas.kafka.wish_records import TableWish, TableWishes

_POLL_S: Final = 0.5
_LEAVE_S: Final = 5.0
_ANSWER_S: Final = 3.0
_KNOWN_S: Final = 30.0  # then a consumer that may not read the topic merges without it
_REFRESH_MS: Final = 5_000  # between two looks for a topic that is not there yet
_LOG: Final = logging.getLogger(__name__)


class WishTopic:
    """A thread with a consumer."""

    def __init__(
        self, settings: Settings, topic: str, changed: Callable[[frozenset[str]], None] = lambda _: None
    ) -> None:
        """Take also what is called with the paused tables once these are known, and whenever they change."""
        self._settings, self._topic, self._changed = settings, topic, changed
        self._wishes, self._retries = TableWishes(), set[str]()
        self._first = 0  # the offset of the first wish that comes while this runs
        self._known = Event()  # set once all that was there has been read, or can't be
        self._is_read = False  # all that was there
        self._lock, self._ending = Lock(), Event()
        self._thread = Thread(target=self._run, name="wishes", daemon=True)
        self._thread.start()

    @property
    def paused(self) -> frozenset[str]:
        """The tables that are paused; the first time it waits until all that was there has been read."""
        self._known.wait(_KNOWN_S)
        return self._wishes.paused

    @property
    def staying(self) -> frozenset[str] | None:
        """The tables whose copies stay when they are gone at the source; None: nobody can know it now."""
        self._known.wait(_KNOWN_S)
        return self._wishes.staying if self._is_read else None

    def take_retries(self) -> frozenset[str]:
        """Return the tables that are to be tried again, each once."""
        with self._lock:
            found, self._retries = frozenset(self._retries), set()
        return found

    def close(self) -> None:
        """End."""
        self._ending.set()
        self._known.set()
        self._thread.join(_LEAVE_S)

    def _run(self) -> None:
        reader = reader_settings(self._settings, "wrackline-wishes")
        latest = {"topic.metadata.refresh.interval.ms": _REFRESH_MS, "auto.offset.reset": "earliest"}
        consumer = Consumer({**reader, **latest})
        asked = False
        while not self._ending.is_set():
            try:
                if not asked:
                    self._first = self._end(consumer)
                    consumer.assign([TopicPartition(self._topic, 0, 0)])
                    asked = True
                    if not self._first:
                        self._all_read()
                message = consumer.poll(_POLL_S)
            except KafkaException as error:
                _LOG.debug("wishes can't be read: %s", error.args[0].code())
                self._ending.wait(_POLL_S)
                continue
            if message is not None:
                self._take(message)
        consumer.close()

    def _end(self, consumer: Consumer) -> int:
        """Return where the topic ends; a topic that is not there yet begins with the first wish."""
        if self._topic not in consumer.list_topics(timeout=_ANSWER_S).topics:
            return 0
        found = consumer.get_watermark_offsets(TopicPartition(self._topic, 0), _ANSWER_S)
        if not found:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - its name
        return found[1]

    def _all_read(self) -> None:
        self._is_read = True
        self._say_known()

    def _say_known(self) -> None:
        if not self._known.is_set():
            self._changed(self._wishes.paused)
            self._known.set()

    def _take(self, message: Message) -> None:
        error, key, value = message.error(), message.key(), message.value()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                self._all_read()
            elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                self._say_known()
            return
        if not isinstance(key, bytes) or isinstance(value, str):
            return
        before = self._wishes.paused
        try:
            about = self._wishes.apply(key, value)
        except (ValueError, KeyError, TypeError):
            _LOG.debug("a record of %s at %s can't be read", self._topic, message.offset())
            return
        if self._wishes.paused != before and self._known.is_set():
            self._changed(self._wishes.paused)
        if about is not None and about.wish is TableWish.RETRY and (message.offset() or 0) >= self._first:
            with self._lock:
                self._retries.add(about.table)
