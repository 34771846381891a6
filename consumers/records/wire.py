"""The bytes of a Kafka record: which schemas they were written with, and the part of a row that is wanted.

In: a frame of key, value, partition, offset, timestamp.  Out: the same with key_head and value_head, without
Kafka's tombstones: a record without a value is made for compaction, and the delete before it has said all.
The value's head is null where the bytes, its own or the key's, do not begin as the registry's wire format
does; the key's is null too where there is no key.  Heads are compared as bytes: making a number of each
costs as much as parsing the record.
"""

import json
from collections.abc import Collection
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.avro.functions import from_avro

HEAD: Final = 5  # a zero byte, then four bytes of schema id, big-endian
_TO_THE_END = 2**31 - 1
_OF_SOURCE = {"ts_ms", "unchanged"}


def with_heads(records: DataFrame) -> DataFrame:
    """Return the records that have a value, with the heads that name their schemas; once is enough."""
    if "value_head" in records.columns:
        return records
    key_head, value_head = _head("key"), _head("value")
    ours = F.col("key").isNull() | key_head.isNotNull()
    return records.where(F.col("value").isNotNull()).select(
        "*",
        key_head.alias("key_head"),
        F.when(ours, value_head).alias("value_head"),
    )


def is_of_pair(key_id: int | None, value_id: int | None) -> Column:
    """Whether a record was written with these schemas."""
    return F.col("key_head").eqNullSafe(head(key_id)) & F.col("value_head").eqNullSafe(head(value_id))


def head(schema_id: int | None) -> Column:
    """Return what a record of a schema begins with."""
    return F.lit(None if schema_id is None else head_bytes(schema_id))


def head_bytes(schema_id: int) -> bytes:
    """Return the same as bytes."""
    return b"\0" + schema_id.to_bytes(HEAD - 1, "big")


def schema_id(its_head: str) -> Column:
    """Return the number in a head."""
    return F.conv(F.hex(F.substring(its_head, 2, HEAD - 1)), 16, 10).cast("int")


def parse_avro(part: str, text: str | None, wanted: str | None = None, *, strict: bool = True) -> Column:
    """Return the record's key or value as its schema says; what is not strict has nulls for bad bytes.

    A table without a key has no schema for one: there it is null.
    """
    if text is None:
        return F.lit(None)
    options = {"mode": "FAILFAST" if strict else "PERMISSIVE"}
    if wanted is not None:
        options["avroSchema"] = wanted
    return from_avro(body(part), text, options)


def body(part: str) -> Column:
    """Return the Avro bytes behind the schema's id."""
    return F.substring(part, HEAD + 1, _TO_THE_END)


def reader_schema(value_text: str, fields: Collection[str]) -> str:
    """Return the envelope's schema with only these fields, so that Avro skips the rest."""
    envelope = json.loads(value_text)
    by_name: dict[str, Any] = {field["name"]: field for field in envelope["fields"]}
    row = by_name["before"]["type"]  # where the row's record is defined; `after` names it
    if "before" not in fields:
        by_name["after"]["type"] = row
    source = by_name["source"]["type"]
    source["fields"] = [field for field in source["fields"] if field["name"] in _OF_SOURCE]
    envelope["fields"] = [field for field in envelope["fields"] if field["name"] in fields]
    return json.dumps(envelope)


def _head(part: str) -> Column:
    no_negative = F.substring(part, 2, 1) < F.lit(b"\x80")  # a schema's id is a number of 31 bits
    starts_right = F.startswith(part, F.lit(b"\0")) & (F.length(part) >= HEAD) & no_negative
    return F.when(starts_right, F.substring(part, 1, HEAD))
