"""Print the rows of a copy as JSON: python -m tests.e2e.read_back pipeline.toml shop public orders."""

import json
import sys
from pathlib import Path

from tests.e2e.copying import plain
from wrackline.consumers.targets.iceberg.target import IcebergTarget
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.spark_session import opened_target
from wrackline.control.target_alone import target_of
from wrackline.schemas.table import TableId


def main(file: str, *table: str) -> None:
    """Read one table."""
    with opened_target(*target_of(good_pipeline(Path(file))), None) as (_, target):
        assert isinstance(target, IcebergTarget)
        rows = target.rows(TableId(*table))
        print(json.dumps([[*map(plain, row)] for row in ([] if rows is None else rows.collect())]))  # noqa: T201 - its output


if __name__ == "__main__":
    main(*sys.argv[1:])
