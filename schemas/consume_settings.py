"""Settings of the way from Kafka into the target: when and how much is merged, and in which Spark.

What Kafka Connect and Spark have a name for is named so here too.  Whatever else Spark can be told is handed
on as it is, except what makes the values right: the zone, the case of names, the rules of a cast, and how
Spark reads names and texts in a statement.
"""

from wrackline.schemas import handed_on
from wrackline.schemas.redaction import Secret
from wrackline.schemas.setting import Importance, Setting
from wrackline.schemas.setting_kinds import Kind, Value, at_least, between, matching, one_of

_LONGEST_WAIT = 86_400_000
_MERGING = "Merging"
_OURS = (
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.ansi.enabled",
    "spark.sql.variable.substitute",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.driver.extraClassPath",
)


def _handed_on(name: str) -> None:
    if name in _OURS:
        raise ValueError("it is set here, for the copy would not be exact with another value")


def _by_connect(value: Value) -> str | None:
    fits = isinstance(value, Secret) and value.reveal().startswith("sc://")
    return None if fits else "expected an address such as sc://host:15002"


CONSUME = (
    Setting(
        "consume.trigger.interval.ms",
        Kind.LONG,
        "How often news is looked for, as the interval of Spark's processing-time trigger.",
        "1000",
        Importance.MEDIUM,
        _MERGING,
        validator=between(10, _LONGEST_WAIT),
    ),
    Setting(
        "consume.parallel.tables",
        Kind.INT,
        "How many tables are merged side by side.",
        "2",
        Importance.MEDIUM,
        _MERGING,
        validator=between(1, 64),
    ),
    Setting(
        "consume.max.offsets.per.trigger",
        Kind.LONG,
        "The most offsets of one table in one batch, as Spark's maxOffsetsPerTrigger.",
        "1000000",
        Importance.LOW,
        _MERGING,
        validator=at_least(1),
    ),
    Setting(
        "consume.upkeep.interval.ms",
        Kind.LONG,
        "How often a table that gets batches is compacted, expired and vacuumed, beside them; 0 is never.",
        "3600000",
        Importance.MEDIUM,
        _MERGING,
        validator=between(0, 30 * _LONGEST_WAIT),
    ),
    Setting(
        "consume.delete.retention.ms",
        Kind.LONG,
        "How long after its commit a deleted row is remembered in the target, so that no older event brings"
        " it back: longer than what a topic could be read again from.",
        "604800000",
        Importance.MEDIUM,
        _MERGING,
        validator=at_least(0),
    ),
    Setting(
        "consume.transaction.boundaries",
        Kind.BOOLEAN,
        "Whether each batch of a table ends where transactions of the source end, so that its readers see"
        " each of them whole or not at all. It needs provide.transaction.metadata. Each table goes its own"
        " way: what one transaction did to two of them is not seen in both at once.",
        "false",
        Importance.MEDIUM,
        _MERGING,
    ),
    Setting(
        "consume.metrics.port",
        Kind.INT,
        "The port of 127.0.0.1 at which `wrackline consume` serves its metrics, as /metrics, and what"
        " `wrackline status` asks for, as /status; 0: none.",
        "0",
        Importance.MEDIUM,
        "Metrics",
        validator=between(0, 65_535),
    ),
    Setting(
        "errors.retry.timeout",
        Kind.LONG,
        "For how many milliseconds a table's batch is tried again after a transient error, before the table "
        "stops; -1 is without end. While Kafka or the schema registry is away the time does not count.",
        "-1",
        Importance.MEDIUM,
        "Failures",
        validator=at_least(-1),
    ),
    Setting(
        "errors.retry.delay.max.ms",
        Kind.LONG,
        "The longest wait before a table's batch is tried again.",
        "60000",
        Importance.LOW,
        "Failures",
        validator=between(1, _LONGEST_WAIT),
    ),
    Setting(
        "errors.tolerance",
        Kind.STRING,
        "What becomes of a record that can't become a row: none, its table stops; all, it is kept as a dead"
        " letter with its bytes, and the others go on. The words are Kafka Connect's.",
        "none",
        Importance.MEDIUM,
        "Failures",
        validator=one_of("none", "all"),
        recommended=("none", "all"),
    ),
    Setting(
        "errors.dead.letters.max",
        Kind.INT,
        "How many dead letters a table may have at a time; a batch that would bring more stops it, for then"
        " it is hardly the records that are wrong.",
        "1000",
        Importance.LOW,
        "Failures",
        validator=between(1, 100_000),
    ),
    Setting(
        "spark.master",
        Kind.STRING,
        "Where Spark runs, as Spark writes it; local[*] is this machine with all its cores.",
        "local[*]",
        Importance.MEDIUM,
        "Spark",
        validator=matching(
            r"local(\[[^\]\s]+\])?|spark://\S+|yarn|k8s://\S+", "local[*], spark://host:port, ..."
        ),
        judged=handed_on.SPARK,
    ),
    Setting(
        "spark.remote",
        Kind.PASSWORD,
        "The Spark Connect server that merges, instead of one of our own, as sc://host:15002. It may hold"
        " a token, so it is never shown. spark.master and spark.driver.memory are then not ours to say.",
        None,
        Importance.MEDIUM,
        "Spark",
        validator=_by_connect,
        judged=handed_on.SPARK,
    ),
    Setting(
        "spark.driver.memory",
        Kind.STRING,
        "How much memory the Spark driver has; in local mode it is all that there is.",
        "1g",
        Importance.MEDIUM,
        "Spark",
        validator=matching(r"[1-9][0-9]*[kmgtKMGT]?b?", "a size, as 512m or 4g"),
        judged=handed_on.SPARK,
    ),
    Setting(
        "spark.<rest>",
        Kind.STRING,
        "Any other setting of Spark, handed on as it is. Over REST and in a group only those that name sizes,"
        " counts, times and switches, and what spark.allow of the group's file names.",
        None,
        Importance.LOW,
        "Spark",
        named=_handed_on,
        judged=handed_on.SPARK,
    ),
)
