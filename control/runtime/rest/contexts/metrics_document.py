"""A pipeline's counts by the names of CDAP's document, each table's and the target's.  Pure.

In: both halves as they were reported, and the kind of the target.  Out: the document.  Its text names
`dml.insert`, its program `dml.inserts`: both are answered.  The counts begin with the consumer's process.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from wrackline.control.runtime.board.board_summary import late_ms
from wrackline.control.runtime.rest.contexts.state_document import table_name
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

_COUNTS: Final = ("dml.insert", "dml.update", "dml.delete", "ddl", "dml.errors")
_PLURAL: Final = ("dml.insert", "dml.update", "dml.delete")
_LATENCY: Final = "dml.latency.seconds"
_BYTES: Final = "dml.data.processed.bytes"


def metrics_document(kind: str | None, halves: Mapping[Half, HalfBoard], at_ms: int) -> dict[str, Any]:
    """Return the counts of each table, and their sums, whose names begin with the target's kind."""
    source, target = halves[Half.SOURCE], halves[Half.TARGET]
    counts = {key: _counts(table) for key, table in sorted(target.tables.items())}
    late = {key: (late_ms(target, key, at_ms) or 0) / 1000 for key in counts}
    totals = sum(counts.values(), Counter(dict.fromkeys(_COUNTS, 0)))
    totals_shown = {
        **_both_names({name: totals[name] for name in _COUNTS}),
        _BYTES: sum(one["bytes"] for one in source.report.get("databases", {}).values()),
        _LATENCY: max(late.values(), default=0.0),
    }
    return {
        "target": kind,
        "metrics": {f"{kind or 'target'}.{name}": value for name, value in totals_shown.items()},
        "tables": [
            {
                **dict(
                    zip(("database", "schema", "table"), table_name(key, source.tables.get(key)), strict=True)
                ),
                "metrics": {**_both_names(counts[key]), _LATENCY: late[key]},
            }
            for key in counts
        ],
    }


def _counts(table: Document) -> Counter[str]:
    events = table["events"]
    return Counter(
        {
            "dml.insert": events.get("c", 0) + events.get("r", 0),
            "dml.update": events.get("u", 0),
            "dml.delete": events.get("d", 0),
            "ddl": sum(table["schema_changes"].values()) + events.get("t", 0),
            "dml.errors": table["dead_letters"],
        }
    )


def _both_names(counts: Mapping[str, int]) -> dict[str, int]:
    shown = {name: counts[name] for name in _COUNTS}
    return shown | {f"{name}s": counts[name] for name in _PLURAL}
