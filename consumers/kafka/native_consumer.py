"""A consumer of librdkafka without the Python client: it hands messages over by the thousand.

confluent-kafka makes an object of each message and of each of its parts, which costs four times what fetching
and reading the message costs.  Its wheel has librdkafka in it, and this calls that library's own functions.
Where they are not to be found, there is no such consumer, and Spark reads every range.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from confluent_kafka import cimpl

from wrackline.consumers.newest.fetched_records import FetchedRecords

_CONSUMER: Final = 1  # rd_kafka_type_t
_AT_ONCE: Final = 10_000
_TEXT: Final = 512  # bytes of an error's text
_POINTERS: Final = (
    "rd_kafka_conf_new",
    "rd_kafka_new",
    "rd_kafka_topic_partition_list_new",
    "rd_kafka_topic_partition_list_add",
    "rd_kafka_queue_get_consumer",
    "rd_kafka_consume_queue",
)


class NativeError(Exception):
    """librdkafka refuses; the text may show a setting, so it is not passed on."""


@dataclass(frozen=True, slots=True)
class Librdkafka:
    """The library, and where the functions are that are called for each message."""

    library: Any
    destroy_at: int
    moment_at: int
    topic_name_at: int


@cache
def librdkafka() -> Librdkafka | None:
    """Find the library that confluent-kafka has loaded; None: it is not at hand."""
    try:
        library = ctypes.CDLL(cimpl.__file__)
        for name in _POINTERS:
            getattr(library, name).restype = ctypes.c_void_p
        library.rd_kafka_topic_name.restype = ctypes.c_char_p
        library.rd_kafka_topic_name.argtypes = [ctypes.c_void_p]
        library.rd_kafka_message_destroy.restype = None
        library.rd_kafka_message_destroy.argtypes = [ctypes.c_void_p]
        library.rd_kafka_message_timestamp.restype = ctypes.c_int64
        library.rd_kafka_message_timestamp.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.rd_kafka_consume_batch_queue.restype = ctypes.c_ssize_t
        at = [
            ctypes.cast(function, ctypes.c_void_p).value or 0
            for function in (
                library.rd_kafka_message_destroy,
                library.rd_kafka_message_timestamp,
                library.rd_kafka_topic_name,
            )
        ]
    except (AttributeError, OSError):
        return None
    return Librdkafka(library, *at)


class NativeConsumer:
    """One client; one thread uses it at a time."""

    def __init__(self, native: Librdkafka, settings: Mapping[str, Any]) -> None:
        """Make it; its own log says nothing, because Spark's source says what is wrong."""
        self._native, library = native, native.library
        text = ctypes.create_string_buffer(_TEXT)
        conf = ctypes.c_void_p(library.rd_kafka_conf_new())
        library.rd_kafka_conf_set_log_cb(conf, None)
        for name, value in settings.items():
            if name == "logger":
                continue
            plain = str(value).lower() if isinstance(value, bool) else str(value)
            if library.rd_kafka_conf_set(conf, name.encode(), plain.encode(), text, _TEXT) != 0:
                library.rd_kafka_conf_destroy(conf)
                raise NativeError(name)
        made = library.rd_kafka_new(_CONSUMER, conf, text, _TEXT)
        if made is None:
            library.rd_kafka_conf_destroy(conf)
            raise NativeError("new")
        self._client = ctypes.c_void_p(made)
        library.rd_kafka_poll_set_consumer(self._client)
        self._queue = ctypes.c_void_p(library.rd_kafka_queue_get_consumer(self._client))
        self._messages = (ctypes.c_void_p * _AT_ONCE)()
        self._rest = ctypes.byref(self._messages, ctypes.sizeof(ctypes.c_void_p))

    def assign(self, topic: str, at: Mapping[int, int]) -> None:
        """Begin to fetch these partitions from these offsets on."""
        library = self._native.library
        places = ctypes.c_void_p(library.rd_kafka_topic_partition_list_new(len(at)))
        try:
            for partition, offset in at.items():
                library.rd_kafka_topic_partition_list_add(places, topic.encode(), partition)
                library.rd_kafka_topic_partition_list_set_offset(
                    places, topic.encode(), partition, ctypes.c_int64(offset)
                )
            self._check(library.rd_kafka_assign(self._client, places))
        finally:
            library.rd_kafka_topic_partition_list_destroy(places)

    def unassign(self) -> None:
        """Fetch nothing more."""
        self._check(self._native.library.rd_kafka_assign(self._client, None))

    def fetch(self, into: FetchedRecords, wait_s: float) -> int:
        """Take over the messages that are there, or the first ones that come; return how many."""
        library, messages = self._native.library, self._messages
        first = library.rd_kafka_consume_queue(self._queue, int(wait_s * 1000))
        if first is None:
            return 0
        messages[0] = first
        # this call waits until it has as many as it may take, so it is given no time
        more = library.rd_kafka_consume_batch_queue(self._queue, 0, self._rest, ctypes.c_size_t(_AT_ONCE - 1))
        found = 1 + max(int(more), 0)
        into.take(ctypes.addressof(messages), found, self._native)
        return found

    def close(self) -> None:
        """Leave Kafka."""
        library = self._native.library
        library.rd_kafka_queue_destroy(self._queue)
        library.rd_kafka_consumer_close(self._client)
        library.rd_kafka_destroy(self._client)

    @staticmethod
    def _check(error: int) -> None:
        if error != 0:
            raise NativeError(error)
