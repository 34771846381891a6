"""Queries the demo's warehouse: `python -m wrackline.control.local.demo.warehouse_query FOLDER "SELECT …"`.

In: the demo's folder and a query in Spark's SQL.  Out: its rows, as a table.  `orders` is the reader's view,
without what was deleted and without our own columns; `lake.<schema>.orders` is the table as it is kept.
"""

import os
import sys
from pathlib import Path

from wrackline.consumers.spark import sessions
from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.parts.lake_reader import open_lake
from wrackline.control.local.demo.shops.known import shop_of
from wrackline.control.local.demo.shops.shop import TABLE
from wrackline.control.runtime.spark import java

_ROWS = 50


def main() -> None:
    """Run one query."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ["JAVA_HOME"] = str(java.find_java().home)
    folder = Path(sys.argv[1])
    orders = shop_of(demo_pipeline.read_pipeline(folder / demo_pipeline.FILE)).table
    session, target = open_lake(folder / "lake")
    rows = target.rows(orders)
    if rows is None:
        sys.exit("the warehouse has no such table")
    rows.createOrReplaceTempView(TABLE)
    rows.sparkSession.sql(sys.argv[2]).show(_ROWS, truncate=60)
    sessions.end(session)


if __name__ == "__main__":
    main()
