"""Prints docs/metrics.md: every metric of a task, and the names of Debezium's that it also bears."""

from collections.abc import Iterable

from wrackline.control.pages.errors_page import cell
from wrackline.producers.metric_names import ALIASES, METRICS, SCANNED, SNAPSHOT_ALIASES, Alias

HEAD = """# Metrics

Printed from the code by `python -m wrackline.control.pages.metrics_page > docs/metrics.md`.

With `metrics.port` set, `wrackline run` serves them in Prometheus' text form at
`http://127.0.0.1:<metrics.port>/metrics`. It listens on that address alone; a Prometheus elsewhere needs a
proxy that you trust.

Each has the labels `server` (topic.prefix), `task` and `database`. Only what Kafka has committed is counted,
so what is read again after an error counts once. Counters begin at 0 with the process.
The log's and the slot's figures are asked of the database every 3 seconds, on a connection of its own; while
it does not answer, they are left out.
"""
OURS = "## Our own\n\n| name | type | more labels | meaning |\n|---|---|---|---|\n"
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


def page() -> str:
    """Return the page."""
    ours = [
        f"| `{metric.name}` | {metric.type.value} | {', '.join(metric.labels)} | {cell(metric.meaning)} |\n"
        for metric in METRICS
    ]
    return "".join(
        [
            HEAD,
            "\n",
            OURS,
            *ours,
            THEIRS,
            *_lines(ALIASES),
            OF_SNAPSHOTS,
            *_lines((*SNAPSHOT_ALIASES, SCANNED)),
        ]
    )


def _lines(aliases: Iterable[Alias]) -> list[str]:
    return [f"| `{alias.name}` | {cell(alias.meaning)} |\n" for alias in aliases]


if __name__ == "__main__":
    print(page(), end="")
