"""One batch that waits while it is applied, and what others do meanwhile."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from tests.integration.targets.spark_world import SparkWorld
from wrackline.consumers.contract.plan import MergePlan
from wrackline.testing.targets.merge_model import latest
from wrackline.testing.targets.target_suite import A, change

PATIENCE = 120.0


def waiting(frame: DataFrame, folder: Path) -> DataFrame:
    """Let the frame's rows wait, once they are requested, until the test says go."""
    here, go = folder / "here", folder / "go"

    @F.udf("string")
    def wait(text: str) -> str:
        here.touch()
        deadline = time.monotonic() + PATIENCE
        while not go.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("nobody said go")
            time.sleep(0.02)
        return text

    return frame.withColumn("seq", wait("seq"))


def overtaken(world: SparkWorld, folder: Path, plan: MergePlan, other: Iterator[None]) -> None:
    """Apply a batch, and while its rows are read let something else happen."""
    plan = replace(plan, since=world.target.applied(plan.table.id))
    frame = waiting(world.newest(latest([change("u", A, 20, "slow")]), plan), folder)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(lambda: world.target.apply(world.target.stage(frame, plan), plan))
        try:
            deadline = time.monotonic() + PATIENCE
            while not (folder / "here").exists():
                assert time.monotonic() < deadline
                assert not slow.done(), slow.result()
                time.sleep(0.02)
            next(other)
        finally:
            (folder / "go").touch()
        slow.result(PATIENCE)
