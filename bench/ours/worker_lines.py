"""What a worker's JSON lines say of its tasks."""

import json
from pathlib import Path


def running_tasks(said: Path) -> int:
    """Return how many tasks have said that they run: Kafka has a position of each of their databases."""
    lines = [json.loads(line) for line in said.read_text().rpartition("\n")[0].splitlines()]
    return len({one["pipeline"] for one in lines if one.get("state") == "RUNNING"})
