"""Lines that a user pastes into another terminal, in the repository's root, to see what the demo made.

In: where things are.  Out: what each line is for, and the line.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote

from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.shops.shop import COUNT_SQL, Line, Shop
from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.schemas.kafka.topic_names import Naming, internal_topics, table_topic

_LAYOUT = "'%p@%o  key %K bytes, value %S bytes\\n'"


def lines_while_running(folder: Path, brokers: str, shop: Shop) -> Sequence[Line]:
    """Return what works while the servers run."""
    topic, offsets = (
        table_topic(demo_pipeline.SERVER, shop.table, Naming.WRACKLINE),
        internal_topics(group_of(demo_pipeline.SERVER)).offsets,
    )
    file = str(folder / demo_pipeline.FILE)
    return (
        *shop.looks(),
        ("the topics", f"kcat -b {brokers} -L"),
        ("the events, as bytes", f"kcat -b {brokers} -C -t {topic} -o -5 -e -f {_LAYOUT}"),
        (
            "the events, decoded; -f waits for more",
            join(["./run", "wrackline", "tail", file, "--count", "5"]),
        ),
        ("where the worker stands", join(["./run", "wrackline", "status", file, "--watch"])),
        ("the offsets", f"kcat -b {brokers} -C -t {offsets} -o -2 -e"),
        *lines_after_end(folder),
    )


def lines_after_end(folder: Path) -> Sequence[Line]:
    """Return what works when they have ended too: the tables are files."""
    look = join([sys.executable, "-m", "wrackline.control.local.demo.warehouse_query", str(folder)])
    return (("the warehouse, in Spark SQL", f"{look} {quote(COUNT_SQL)}"),)
