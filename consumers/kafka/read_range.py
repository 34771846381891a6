"""The bytes of a range of offsets as a frame: key, value, partition, offset, timestamp.

In: a range that topic_offsets.py found (whole: nothing of it is gone) and the options of client_settings.py.
Spark reads `read_committed`, so aborted records never appear; gaps between offsets are control records, not
loss.
"""

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.contract.batch_scope import BatchRange


def read_range(session: SparkSession, options: Mapping[str, str], wanted: BatchRange) -> DataFrame:
    """Return the records of a range."""
    return (
        session.read.format("kafka")
        # A range ends in a control record, after which the broker would wait for more than was asked.
        .option("kafka.fetch.max.wait.ms", "20")
        .options(**options)
        .option("kafka.isolation.level", "read_committed")
        .option("failOnDataLoss", "true")
        .option("subscribe", wanted.topic)
        .option("startingOffsets", _json(wanted.topic, wanted.start))
        .option("endingOffsets", _json(wanted.topic, wanted.end))
        .load()
        .select("key", "value", "partition", "offset", "timestamp")
    )


def _json(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
