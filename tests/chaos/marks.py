"""How existing rows are read in fault runs: the kinds of marks, and what can't be asked of such a run."""

import pytest

# rows from before the task have no events, and a row that is read is one that nobody wrote just now
NOT_OF_ROWS = ("CHK-4", "CHK-5", "INV-3")
SIGNALS = "signals"
MARKS = ["fence", *(pytest.param(kind, marks=pytest.mark.deep) for kind in ("message", "insert_insert"))]


def reading(kind: str, chunk: int) -> dict[str, str]:
    """Settings with which rows are read in chunks of so many."""
    found = {
        "snapshot.mode": "initial",
        "incremental.snapshot.chunk.size": str(chunk),
        "incremental.snapshot.watermarking.strategy": kind,
    }
    if kind == "insert_insert":
        found["signal.data.collection"] = f"public.{SIGNALS}"
    return found
