"""Looks into the demo's warehouse: `python -m wrackline.control.demo.look FOLDER "SELECT ..."`.

In: the demo's folder and a query in Spark's SQL.  Out: its rows, as a table.  `orders` is the reader's view,
without what was deleted and without our own columns; `lake.public.orders` is the table as it is kept.
"""

import os
import sys
from pathlib import Path

from wrackline.consumers.plan import OurColumns
from wrackline.consumers.spark import build_session
from wrackline.consumers.targets.iceberg import schema
from wrackline.control.demo import settings, shop
from wrackline.control.demo.merging import WAREHOUSE
from wrackline.control.stack import java
from wrackline.control.stack.jars import spark_jars
from wrackline.schemas.versions import SPARK

_ROWS = 50


def main() -> None:
    """Run one query."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ["JAVA_HOME"] = str(java.find().home)
    session = build_session(spark_jars(SPARK), Path(sys.argv[1]) / "lake" / WAREHOUSE)
    ours = OurColumns.prefixed("_wl_")
    schema.live_rows(session, settings.ORDERS, ours).createOrReplaceTempView(shop.TABLE)
    session.sql(sys.argv[2]).show(_ROWS, truncate=60)
    session.stop()


if __name__ == "__main__":
    main()
