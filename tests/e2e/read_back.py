"""Print the rows of a copy as JSON: python -m tests.e2e.read_back pipeline.toml shop public orders."""

import json
import sys
from pathlib import Path

from tests.e2e.copying import plain
from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.spark.spark_session import open_target
from wrackline.control.runtime.spark.target_access import target_of
from wrackline.schemas.tables.table import TableId


def main(file: str, *table: str) -> None:
    """Read one table."""
    with open_target(*target_of(good_pipeline(Path(file))), None) as (_, target):
        assert isinstance(target, LakeTarget)
        rows = target.rows(TableId(*table))
        print(json.dumps([[*map(plain, row)] for row in ([] if rows is None else rows.collect())]))  # noqa: T201 - its output


if __name__ == "__main__":
    main(*sys.argv[1:])
