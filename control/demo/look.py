"""Looks into the demo's warehouse: `python -m wrackline.control.demo.look FOLDER "SELECT ..."`.

In: the demo's folder and a query in Spark's SQL.  Out: its rows, as a table.  `orders` is the reader's view,
without what was deleted and without our own columns; `lake.<schema>.orders` is the table as it is kept.
"""

import os
import sys
from pathlib import Path

from wrackline.consumers import spark
from wrackline.control.demo import settings
from wrackline.control.demo.merging import open_lake
from wrackline.control.demo.shops.known import shop_of
from wrackline.control.demo.shops.shop import TABLE
from wrackline.control.stack import java

_ROWS = 50


def main() -> None:
    """Run one query."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ["JAVA_HOME"] = str(java.find().home)
    folder = Path(sys.argv[1])
    orders = shop_of(settings.read(folder / settings.FILE)).table
    session, target = open_lake(folder / "lake")
    rows = target.rows(orders)
    if rows is None:
        sys.exit("the warehouse has no such table")
    rows.createOrReplaceTempView(TABLE)
    rows.sparkSession.sql(sys.argv[2]).show(_ROWS, truncate=60)
    spark.end(session)


if __name__ == "__main__":
    main()
