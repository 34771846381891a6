"""Lines that a user pastes into another terminal, in the repository's root, to see what the demo made.

In: where things are.  Out: what each line is for, and the line.  Paths below the current folder are relative
to it, so that a line is short enough to read.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import join

from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.shops.shop import COUNT_SQL, Line, Shop
from wrackline.control.local.demo.warehouses.warehouse import Warehouse
from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.schemas.kafka.topic_names import Naming, internal_topics, table_topic

_LAYOUT = "'%p@%o  key %K bytes, value %S bytes\\n'"
_QUERY = "wrackline.control.local.demo.warehouse_query"


def lines_while_running(folder: Path, brokers: str, shop: Shop, target: type[Warehouse]) -> Sequence[Line]:
    """Return what works while the servers run."""
    topic, offsets = (
        table_topic(demo_pipeline.SERVER, shop.table, Naming.WRACKLINE),
        internal_topics(group_of(demo_pipeline.SERVER)).offsets,
    )
    file = _shorten(folder / demo_pipeline.FILE)
    return (
        *shop.looks(),
        ("the newest events, decoded", join(["./run", "wrackline", "tail", file, "--count", "5"])),
        ("how far both halves are", join(["./run", "wrackline", "status", file, "--watch"])),
        _query_line(folder, target),
        ("with kcat: the topics", f"kcat -b {brokers} -L"),
        ("with kcat: the newest events, as bytes", f"kcat -b {brokers} -C -t {topic} -o -5 -e -f {_LAYOUT}"),
        ("with kcat: the pipeline's position", f"kcat -b {brokers} -C -t {offsets} -o -2 -e"),
    )


def lines_after_end(folder: Path, target: type[Warehouse]) -> Sequence[Line]:
    """Return what works when they have ended too, where the tables are files."""
    remove = "remove all of it", join(["rm", "-r", _shorten(folder)])
    return (_query_line(folder, target), remove) if target.stays else (remove,)


def _query_line(folder: Path, target: type[Warehouse]) -> Line:
    query = [_shorten(Path(sys.executable)), "-m", _QUERY, _shorten(folder), COUNT_SQL]
    return target.sql, join(query)


def _shorten(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
