"""Batches that split no transaction, if `consume.transaction.boundaries` is set.

In: a pipeline's settings.  Out: what chooses the ranges of its batches, or None.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.kafka.transaction_ends import TransactionEndReader
from wrackline.consumers.kafka.transactions import TransactionFinder, WholeTransactions
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka.topic_names import control_topics
from wrackline.schemas.settings.settings_registry import Values

NO_METADATA = define(
    "consume.no_transaction_metadata",
    OperatorNeeded,
    "consume.transaction.boundaries needs transactions' ENDs, and provide.transaction.metadata is false",
    hint="set provide.transaction.metadata = true, then start both halves again: wrackline run"
    " <pipeline.toml>; wrackline consume <pipeline.toml>",
)


def check_boundaries(values: Values) -> None:
    """Refuse boundaries that no worker publishes, before anything is started."""
    if values.flag("consume.transaction.boundaries") and not values.flag("provide.transaction.metadata"):
        missing = NO_METADATA()
        raise missing


@contextmanager
def whole_transactions(
    values: Values, session: SparkSession, asks: TopicOffsets, text: Callable[[int], str]
) -> Iterator[WholeTransactions | None]:
    """Yield what chooses ranges at boundaries; None if batches may end anywhere."""
    if not values.flag("consume.transaction.boundaries"):
        yield None
        return
    given = values.below("kafka.")
    topic = control_topics(values.text("topic.prefix")).transaction
    endings = TransactionEndReader(asks, client_settings(given), topic, text)
    try:
        yield WholeTransactions(asks, endings, TransactionFinder(session, spark_options(given), text))
    finally:
        endings.close()
