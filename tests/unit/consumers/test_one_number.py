"""Two keys that Spark has one number for: neither takes the other's place in a batch."""

from dataclasses import replace
from itertools import product
from string import ascii_letters, printable

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from tests.unit.consumers.test_decode import KEYED
from tests.unit.consumers.test_sift import Bin
from wrackline.consumers.contract.plan import NewestChange
from wrackline.consumers.records.replaced_records import drop_replaced
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind

BY_NAME = replace(
    KEYED, columns=(Column("a b", 1, ColumnType(Kind.STRING, "text"), nullable=False), *KEYED.columns[1:])
)
HEAD = b"\0\0\0\0\1" + bytes([2 * 10])  # of a key that is a text of ten characters
ALL = (1 << 64) - 1
ONE, TWO, FOUR, FIVE = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SEED = 42  # Spark's


def turned(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & ALL


def after_first_eight(key: bytes) -> int:
    """XXH64 of sixteen bytes, up to its last word."""
    state = SEED + FIVE + 16 ^ turned(int.from_bytes(key[:8], "little") * TWO & ALL, 31) * ONE & ALL
    return (turned(state, 27) * ONE + FOUR) & ALL


def pair() -> tuple[str, str]:
    """Two texts of ten characters whose keys have one number: of the second, two characters are chosen."""
    first = "aabcdefghi"
    key = HEAD + first.encode()
    last = turned(int.from_bytes(key[8:], "little") * TWO & ALL, 31) * ONE & ALL
    for two in product(ascii_letters, ascii_letters):
        begun = HEAD + "".join(two).encode()
        wanted = (after_first_eight(key) ^ after_first_eight(begun) ^ last) * pow(ONE, -1, 1 << 64) & ALL
        rest = (turned(wanted, 64 - 31) * pow(TWO, -1, 1 << 64) & ALL).to_bytes(8, "little")
        text = rest.decode("latin-1")
        if two != ("a", "a") and set(text) <= set(printable):
            return first, "".join(two) + text
    raise AssertionError("no such text")


@pytest.mark.full
def test_both_rows_are_merged(spark: SparkSession, namespace: str) -> None:
    first, second = pair()
    made = Bin(spark, namespace, BY_NAME)
    made.topic.tell("c", 1, (first, "old", None, None))
    assert made.merge(0) == 0
    made.topic.tell("u", 2, (first, "new", None, None))
    made.topic.tell("c", 3, (second, "other", None, None))
    keys = spark.createDataFrame([(record[0],) for record in made.topic.records], "key binary")
    assert keys.select(F.xxhash64("key")).distinct().count() == 1
    assert drop_replaced(made.frame(), NewestChange("0" * 8, 1, 2)).count() == 2
    assert made.merge(0) == 0
    assert made.rows() == {first: "new", second: "other"}
