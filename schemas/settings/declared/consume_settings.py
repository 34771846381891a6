"""Settings of the way from Kafka into the target: when and how much is merged, and in which Spark.

A setting that Kafka Connect or Spark has a name for has the same name here.  All other Spark settings are
passed on as they are, except those that make the values right: the zone, the case of names, the rules of a
cast, and how Spark reads names and texts in a statement.  How old copies may be is promised here too.
"""

from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings import passthrough
from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, Value, at_least, between, matching, one_of

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
        raise ValueError("Wrackline sets it itself, because with another value the copy would not be exact")


def _by_connect(value: Value) -> str | None:
    fits = isinstance(value, Secret) and value.reveal().startswith("sc://")
    return None if fits else "expected an address such as sc://host:15002"


CONSUME = (
    Setting(
        "consume.trigger.interval.ms",
        SettingKind.LONG,
        "How often to look for new events: the interval of Spark's processing-time trigger.",
        "1000",
        Importance.MEDIUM,
        _MERGING,
        validator=between(10, _LONGEST_WAIT),
    ),
    Setting(
        "consume.parallel.tables",
        SettingKind.INT,
        "How many tables are merged at the same time.",
        "2",
        Importance.MEDIUM,
        _MERGING,
        validator=between(1, 64),
    ),
    Setting(
        "consume.max.offsets.per.trigger",
        SettingKind.LONG,
        "The largest number of Kafka offsets that one batch of a table may cover; Spark's"
        " maxOffsetsPerTrigger.",
        "1000000",
        Importance.LOW,
        _MERGING,
        validator=at_least(1),
    ),
    Setting(
        "consume.upkeep.interval.ms",
        SettingKind.LONG,
        "How often a table that gets batches is compacted, expired and vacuumed, in parallel with them; 0"
        " is never. If it is not set: each hour, and in BigQuery, Redshift, Snowflake and Spanner each day,"
        " because there an upkeep reads whole tables. A consumer that restarts more often does it once in"
        " that time on the average.",
        None,
        Importance.MEDIUM,
        _MERGING,
        validator=between(0, 30 * _LONGEST_WAIT),
    ),
    Setting(
        "consume.delete.retention.ms",
        SettingKind.LONG,
        "How long after its commit the target remembers a deleted row, so that no older event brings it"
        " back. It must be longer than the age of any event that could be read from a topic again.",
        "604800000",
        Importance.MEDIUM,
        _MERGING,
        validator=at_least(0),
    ),
    Setting(
        "consume.transaction.boundaries",
        SettingKind.BOOLEAN,
        "Whether each batch of a table ends where a transaction of the source ends, so that readers see"
        " the whole transaction or none of it. It needs provide.transaction.metadata. Each table advances"
        " by itself: changes that one transaction made to two tables do not appear in both at once.",
        "false",
        Importance.MEDIUM,
        _MERGING,
    ),
    Setting(
        "consume.metrics.port",
        SettingKind.INT,
        "The port of 127.0.0.1 on which `wrackline consume` serves its metrics, as /metrics; 0: none. A"
        " second pipeline on the machine needs another port.",
        "0",
        Importance.MEDIUM,
        "Metrics",
        validator=between(0, 65_535),
    ),
    Setting(
        "errors.retry.timeout",
        SettingKind.LONG,
        "For how many milliseconds a transient error is retried; -1 is without limit. Then the source's task"
        " is FAILED, and a table of the target stops. Time during which Kafka or the schema registry is"
        " unavailable does not count.",
        "-1",
        Importance.MEDIUM,
        "Failures",
        validator=at_least(-1),
    ),
    Setting(
        "errors.retry.delay.max.ms",
        SettingKind.LONG,
        "The longest wait before a table's batch is retried.",
        "60000",
        Importance.LOW,
        "Failures",
        validator=between(1, _LONGEST_WAIT),
    ),
    Setting(
        "errors.tolerance",
        SettingKind.STRING,
        "What happens to a record that can't become a row. none: its table stops. all: the record is kept"
        " as a dead letter with its bytes, and the other records are merged. The words are Kafka Connect's.",
        "none",
        Importance.MEDIUM,
        "Failures",
        validator=one_of("none", "all"),
        recommended=("none", "all"),
    ),
    Setting(
        "errors.dead.letters.max",
        SettingKind.INT,
        "How many dead letters a table may have at a time. A batch that would bring more stops the table,"
        " because then the records are probably not the cause.",
        "1000",
        Importance.LOW,
        "Failures",
        validator=between(1, 100_000),
    ),
    Setting(
        "spark.master",
        SettingKind.STRING,
        "Where Spark runs, as a Spark master URL; local[*] is this machine with all its cores.",
        "local[*]",
        Importance.MEDIUM,
        "Spark",
        validator=matching(
            r"local(\[[^\]\s]+\])?|spark://\S+|yarn|k8s://\S+", "local[*], spark://host:port, ..."
        ),
        judged=passthrough.SPARK,
    ),
    Setting(
        "spark.remote",
        SettingKind.PASSWORD,
        "The Spark Connect server that merges, instead of a Spark that Wrackline starts, as"
        " sc://host:15002. It may contain a token, so it is never shown. spark.master and"
        " spark.driver.memory are then up to that server.",
        None,
        Importance.MEDIUM,
        "Spark",
        validator=_by_connect,
        judged=passthrough.SPARK,
    ),
    Setting(
        "spark.driver.memory",
        SettingKind.STRING,
        "How much memory the Spark driver has; in local mode this is all the memory that Spark has.",
        "1g",
        Importance.MEDIUM,
        "Spark",
        validator=matching(r"[1-9][0-9]*[kmgtKMGT]?b?", "a size, such as 512m or 4g"),
        judged=passthrough.SPARK,
    ),
    Setting(
        "spark.<rest>",
        SettingKind.STRING,
        "Any other Spark setting, passed on unchanged. Over REST and in a group only sizes, counts, times"
        " and switches are accepted, and what spark.allow in the group's file lists.",
        None,
        Importance.LOW,
        "Spark",
        named=_handed_on,
        judged=passthrough.SPARK,
    ),
)

_FRESHNESS = "Freshness"
SLO = (
    Setting(
        "slo.minutes",
        SettingKind.INT,
        "How old the copy of a table may be: a minute is bad if at some time in it the copy is complete only"
        " as the database was longer ago. Without it minutes are not counted, and the earlier ones are"
        " forgotten.",
        None,
        Importance.MEDIUM,
        _FRESHNESS,
        validator=between(1, 1_440),
    ),
    Setting(
        "slo.percent",
        SettingKind.DOUBLE,
        "How many percent of a table's minutes are to be good.",
        "99",
        Importance.LOW,
        _FRESHNESS,
        validator=between(50, 100),
    ),
    Setting(
        "slo.window.days",
        SettingKind.INT,
        "The number of days over which the percentage is judged; older minutes are forgotten.",
        "30",
        Importance.LOW,
        _FRESHNESS,
        validator=between(1, 90),
    ),
)
SLO_NEEDS = (Requirement("slo.minutes", "target.kind"),)
