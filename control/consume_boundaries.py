"""Batches that split no transaction, where `consume.transaction.boundaries` wishes it.

In: a pipeline's settings.  Out: who chooses the ranges of its batches, or nobody.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from wrackline.consumers.endings import Endings
from wrackline.consumers.kafka_settings import asking, reading
from wrackline.consumers.topics import Topics
from wrackline.consumers.transactions import Stretches, WholeTransactions
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings import Values
from wrackline.schemas.topics import control_topics

NO_METADATA = define(
    "consume.no_transaction_metadata",
    OperatorNeeded,
    "consume.transaction.boundaries needs transactions' ENDs, and provide.transaction.metadata is false",
    hint="set provide.transaction.metadata=true, then start both halves again: wrackline run <pipeline.toml>;"
    " wrackline consume <pipeline.toml>",
)


def check_boundaries(values: Values) -> None:
    """Refuse boundaries that nobody publishes, before anything is started."""
    if values.flag("consume.transaction.boundaries") and not values.flag("provide.transaction.metadata"):
        missing = NO_METADATA()
        raise missing


@contextmanager
def whole_transactions(
    values: Values, session: SparkSession, asks: Topics, text: Callable[[int], str]
) -> Iterator[WholeTransactions | None]:
    """Give who chooses ranges at boundaries; None where batches may end anywhere."""
    if not values.flag("consume.transaction.boundaries"):
        yield None
        return
    given = values.below("kafka.")
    topic = control_topics(values.text("topic.prefix")).transaction
    endings = Endings(asks, asking(given), topic, text)
    try:
        yield WholeTransactions(asks, endings, Stretches(session, reading(given), text))
    finally:
        endings.close()
