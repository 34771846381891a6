"""A table of orders in a lake and changes of it, made inside Spark: the same rows for the same numbers.

loaded    rows with ids 0 to rows - 1, as a first load leaves them: each file has one range of ids
changes   of ten changes eight update, one deletes and one is a new order; an id occurs once in a batch
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

FILES = 16
FIRST_SEQ, SEQ_WIDTH = 1, 30
_FAR = 1 << 40  # between the numbers that the rows of two batches are made from


def loaded(spark: SparkSession, rows: int) -> DataFrame:
    """Return the rows of a first load, with their seq."""
    return spark.range(0, rows, 1, FILES).select(*_columns(F.col("id"), F.col("id")), _seq(0).alias("seq"))


def changes(spark: SparkSession, count: int, batch: int, first: int, last: int, rows: int) -> DataFrame:
    """Return a batch of changes to ids from first to last, with op and seq; new ids begin at `rows`."""
    number = F.col("id")
    old = F.lit(first) + F.pmod(F.xxhash64("id", F.lit(batch)), F.lit(last - first + 1))
    new = F.lit(rows + batch * count) + number
    kind = F.pmod("id", F.lit(10))
    made = spark.range(0, count, 1, 2).select(
        F.when(kind == 9, new).otherwise(old).alias("id"),
        F.when(kind == 9, "c").when(kind == 8, "d").otherwise("u").alias("op"),
        (F.lit(batch * _FAR) + number).alias("number"),
    )
    once = made.dropDuplicates(["id"])
    return once.select(*_columns(F.col("id"), F.col("number")), "op", _seq(batch).alias("seq"))


def _columns(its_id: Column, number: Column) -> list[Column]:
    digits = F.sha2(number.cast("string"), 256)
    return [
        its_id.alias("id"),
        F.pmod(number, F.lit(100_000)).cast("int").alias("customer_id"),
        F.concat(F.lit("SKU-"), F.substring(digits, 7, 12)).alias("sku"),
        F.pmod(number, F.lit(20)).cast("int").alias("quantity"),
        (F.pmod(number, F.lit(1_000_000)) / 100).cast("decimal(10,2)").alias("price"),
        F.substring(digits, 1, 6).alias("status"),
        F.substring(digits, 20, 40).alias("note"),
        F.timestamp_seconds(F.lit(1_760_000_000) + F.pmod(number, F.lit(10_000_000))).alias("changed_at"),
    ]


def _seq(batch: int) -> Column:
    return F.lit(f"{FIRST_SEQ + batch:0{SEQ_WIDTH}x}")
