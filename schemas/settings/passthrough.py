"""What a setting may hand to Spark, Hadoop or Iceberg when it comes from elsewhere: by REST, or in a group.

An allow-list of names, each with the form of its values, because many names of these programs load a class,
run a command, read a file or send our passwords to an address that the value names.  The owner of the machine
is free: a pipeline's own file may hold any of them, and `spark.allow` of a group's file names more.

In: a name and its value.  Out: the reason against it, or None.  No reason repeats the value.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Judge = Callable[[str, str], str | None]  # a name and its value: the reason against the two


@dataclass(frozen=True, slots=True)
class ValueForm:
    """How a value looks; the whole of it."""

    pattern: re.Pattern[str]
    wanted: str

    def refuses(self, value: str) -> str | None:
        """Return the reason against a value."""
        return None if self.pattern.fullmatch(value) else f"a connector may only set it to {self.wanted}"


def form(pattern: str, wanted: str) -> ValueForm:
    """Make a form; classes of characters mean ASCII."""
    return ValueForm(re.compile(pattern, re.ASCII), wanted)


def words(*among: str) -> ValueForm:
    """One of these words."""
    return form("|".join(map(re.escape, among)), " or ".join(among))


COUNT = form("[1-9][0-9]{0,5}", "a whole number from 1 to 999999")
FLAG = words("true", "false")
FRACTION = form(r"0\.[0-9]{1,6}|1\.0", "a number above 0 and up to 1.0")
SIZE = form("[1-9][0-9]{0,11}([kmgtKMGT]?[bB]?)", "a size, such as 512m")
SIZE_OR_NONE = form("-1|0|[1-9][0-9]{0,11}([kmgtKMGT]?[bB]?)", "a size, such as 512m; 0, or -1, for none")
DURATION = form("(0|[1-9][0-9]{0,8})(ms|s|m|min|h|d)?", "a time, such as 120s")
PLAIN = form(r"[A-Za-z0-9._/+=:,@-]{1,512}", "letters, digits and ._/+=:,@-")
# Spark and Hadoop replace ${...} in a value: by the environment's variables, among others
CREDENTIAL = form(r"(?:(?!\$\{)[\x20-\x7e]){1,8192}", "printable ASCII without ${")
NO_VARIABLE = form(r"(?:(?!\$\{)[^\x00-\x1f\x7f]){1,4096}", "a text without ${")
ADDRESS = form(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?", "an http:// or https:// address")
HOST = form(r"(https?://)?[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?", "a host, or a web address")


def by_list(known: Mapping[str, ValueForm]) -> Judge:
    """Let only these names through, each with values of its form."""

    def judge(name: str, value: str) -> str | None:
        found = known.get(name)
        return "connectors may not set it" if found is None else found.refuses(value)

    return judge


SPARK = by_list(
    {
        "spark.master": form(
            r"local(\[(\*|[1-9][0-9]{0,3})(,[1-9][0-9]?)?\])?", "local, local[N] or local[*]"
        ),
        **dict.fromkeys(
            (
                "spark.driver.memory",
                "spark.driver.memoryOverhead",
                "spark.executor.memory",
                "spark.executor.memoryOverhead",
                "spark.sql.adaptive.advisoryPartitionSizeInBytes",
                "spark.sql.files.maxPartitionBytes",
            ),
            SIZE,
        ),
        **dict.fromkeys(
            (
                "spark.cores.max",
                "spark.default.parallelism",
                "spark.driver.cores",
                "spark.executor.cores",
                "spark.executor.instances",
                "spark.sql.shuffle.partitions",
                "spark.task.cpus",
                "spark.task.maxFailures",
            ),
            COUNT,
        ),
        **dict.fromkeys(
            (
                "spark.executor.heartbeatInterval",
                "spark.locality.wait",
                "spark.network.timeout",
                "spark.rpc.askTimeout",
                "spark.sql.broadcastTimeout",
            ),
            DURATION,
        ),
        **dict.fromkeys(
            (
                "spark.rdd.compress",
                "spark.shuffle.compress",
                "spark.sql.adaptive.coalescePartitions.enabled",
                "spark.sql.adaptive.enabled",
                "spark.sql.adaptive.skewJoin.enabled",
            ),
            FLAG,
        ),
        **dict.fromkeys(("spark.driver.maxResultSize", "spark.sql.autoBroadcastJoinThreshold"), SIZE_OR_NONE),
        **dict.fromkeys(("spark.memory.fraction", "spark.memory.storageFraction"), FRACTION),
        "spark.log.level": words("ERROR", "FATAL", "INFO", "OFF", "WARN"),
        "spark.sql.parquet.compression.codec": words("gzip", "none", "snappy", "uncompressed", "zstd"),
    }
)
