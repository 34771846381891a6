"""Prints docs/metrics.md: every metric of both halves, and the names of Debezium's that are borne."""

from collections.abc import Iterable

from wrackline.consumers.observe import metric_names as consumers
from wrackline.control.pages.errors_page import cell
from wrackline.producers.observe.task_metric_names import ALIASES, METRICS, SCANNED, SNAPSHOT_ALIASES, Alias
from wrackline.schemas.language.exposition import Metric

HEAD = """# Metrics

Printed from the code by `python -m wrackline.control.pages.metrics_page > docs/metrics.md`.

With `metrics.port` set, `wrackline run` serves them in Prometheus' text form at
`http://127.0.0.1:<metrics.port>/metrics`. It listens on that address alone; a Prometheus elsewhere needs a
proxy that you trust.

Each has the labels `server` (topic.prefix), `task` and `database`. Only what Kafka has committed is counted,
so what is read again after an error counts once. Counters begin at 0 with the process.
The log's and the slot's figures are asked of the database every 3 seconds, on a connection of its own; while
it does not answer, they are left out. MySQL and MariaDB have no slot: `wrackline_slot_safe_bytes` and
`wrackline_slot_seconds_until_lost` say there when their own limits of size and age would drop a file that is
still needed; the newest file is never dropped, so for who keeps up it is +Inf.
"""
COLUMNS = "| name | type | more labels | meaning |\n|---|---|---|---|\n"
OURS = f"## Our own\n\n{COLUMNS}"
THEIRS = """
## Debezium's names

As its JMX exporter serves its streaming metrics, with the labels `plugin`, `name`, `task`, `database` and
`context="streaming"`, so that dashboards made for them find the figures. All are gauges. What is not listed
is not served.

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
`http://127.0.0.1:<consume.metrics.port>/metrics`, and beside them, at `/status`, one JSON document with the
same and each table's last error: what `wrackline status` shows. Each has the label `server`. Only what is
committed in the target is counted. `table` is the topic's name without `topic.prefix`.

Worth an alert: `wrackline_consume_tables{{standing="stopped"}} > 0`,
`wrackline_consume_behind_seconds > 300`, `wrackline_consume_running == 0`, and
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
            *_lines(ALIASES),
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
