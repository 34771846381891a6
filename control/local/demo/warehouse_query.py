"""Queries the demo's warehouse: `python -m wrackline.control.local.demo.warehouse_query FOLDER "SELECT …"`.

In: the demo's folder and a query in the warehouse's own SQL.  Out: its rows, as a table.  `orders` is the
reader's view, without what was deleted and without our own columns.
"""

import os
import sys
from contextlib import closing
from pathlib import Path

from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.shops.known import shop_of
from wrackline.control.local.demo.warehouses.known import WAREHOUSES, WarehouseKind
from wrackline.control.runtime.spark import java


def main() -> None:
    """Run one query."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ["JAVA_HOME"] = str(java.find_java().home)
    folder = Path(sys.argv[1])
    values = demo_pipeline.read_pipeline(folder / demo_pipeline.FILE)
    with closing(WAREHOUSES[WarehouseKind(values.text("target.kind"))].reader(folder / "lake")) as copy:
        copy.begin(values)
        found = copy.query(sys.argv[2], shop_of(values).table)
    sys.exit("the warehouse has no such table") if found is None else print(found)


if __name__ == "__main__":
    main()
