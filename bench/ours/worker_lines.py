"""What a worker's JSON lines say of its tasks."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def running_tasks(said: Path) -> int:
    """Return how many tasks have said that they run: Kafka has a position of each database that answered."""
    return len({one["pipeline"] for one in _lines(said) if one.get("state") == "RUNNING"})


def read_databases(said: Path) -> int:
    """Return how many databases are read: a task also runs while some have not answered yet."""
    health = {one["database"]: one["health"] for one in _lines(said) if "health" in one}
    return sum(one == "running" for one in health.values())


def _lines(said: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in said.read_text().rpartition("\n")[0].splitlines()]
