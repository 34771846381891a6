"""Prints docs/metrics.md: every metric of both halves, and Debezium's names for them."""

from collections.abc import Iterable

from wrackline.consumers.observe import metric_names as consumers
from wrackline.control.pages.errors_page import cell
from wrackline.producers.observe.task_metric_names import (
    ACTIVE,
    ALIASES,
    METRICS,
    OLDEST,
    QUEUE_ALIASES,
    SCANNED,
    SNAPSHOT_ALIASES,
    Alias,
)
from wrackline.schemas.language.exposition import Metric

HEAD = """# Metrics

Printed from the code by `python -m wrackline.control.pages.metrics_page > docs/metrics.md`.

With `metrics.port` set, `wrackline run` serves them in Prometheus' text form at
`http://127.0.0.1:<metrics.port>/metrics`. It listens only on that address; a Prometheus on another machine
needs a proxy that you trust.

Of several tasks, each serves its own metrics, and those of task *n* have the label `task="n"`. The tasks take
the ports from `metrics.port` on, in turn, without `consume.metrics.port`: with 9401 for `metrics.port` and
9402 for the consumer, tasks 0, 1 and 2 are at 9401, 9403 and 9404. A second pipeline on the machine needs
ports behind these.

Each has the labels `server` (topic.prefix), `task` and `database`. Of a task with several databases,
figures of all of them together are served once and have no `database`: `wrackline_commit_seconds`,
`wrackline_queue_bytes`, `wrackline_queue_most_bytes`, `wrackline_task_databases`, `wrackline_task_connected`,
Debezium's four of the queue (`QueueTotalCapacity` and the three below it), and what the task itself recovered
from in `wrackline_recoveries_total`.
Only what Kafka has committed is counted, so what is read again after an error counts once. Counters begin at
0 with the process.
The task asks the database for the figures of the log and the slot every 3 seconds, on a connection of their
own; while the database does not answer, they are left out. MySQL and MariaDB have no slot. There,
`wrackline_slot_safe_bytes` and `wrackline_slot_seconds_until_lost` say when the server's limits of size and
age would drop a file that is still needed. The server never drops the newest file, so a task that keeps up
has +Inf.
"""
COLUMNS = "| name | type | more labels | meaning |\n|---|---|---|---|\n"
OURS = f"## Our own\n\n{COLUMNS}"
THEIRS = """
## Debezium's names

The names and labels (`plugin`, `name`, `task`, `database`, `context="streaming"`) are those of Debezium's
streaming metrics from its JMX exporter, so its dashboards work. All are gauges. A metric that is not in this
list is not served.

| name | meaning |
|---|---|
"""
OF_SNAPSHOTS = """
With `context="snapshot"`, and `RowsScanned` with the label `table` as well:

| name | meaning |
|---|---|
"""
OF_CONSUMERS = f"""
## Of a consumer

With `consume.metrics.port` set, `wrackline consume` serves these at
`http://127.0.0.1:<consume.metrics.port>/metrics`. Each has the label `server`. Only what is committed in
the target is counted. `table` is the topic's name without `topic.prefix`.

Worth an alert: `wrackline_consume_tables{{standing="stopped"}} > 0`,
`wrackline_freshness_seconds > 300`, `wrackline_consume_running == 0`, and
`wrackline_consume_retained_ratio < 0.25`: the topic is about to drop what is not merged.

{COLUMNS}"""


def page() -> str:
    """Return the page."""
    return "".join(
        [
            HEAD,
            "\n",
            OURS,
            *_table(METRICS),
            THEIRS,
            *_lines((*ALIASES, ACTIVE, OLDEST, *QUEUE_ALIASES)),
            OF_SNAPSHOTS,
            *_lines((*SNAPSHOT_ALIASES, SCANNED)),
            OF_CONSUMERS,
            *_table(consumers.METRICS),
        ]
    )


def _table(metrics: Iterable[Metric]) -> list[str]:
    return [
        f"| `{metric.name}` | {metric.type.value} | {', '.join(metric.labels)} | {cell(metric.meaning)} |\n"
        for metric in metrics
    ]


def _lines(aliases: Iterable[Alias]) -> list[str]:
    return [f"| `{alias.name}` | {cell(alias.meaning)} |\n" for alias in aliases]


if __name__ == "__main__":
    print(page(), end="")
