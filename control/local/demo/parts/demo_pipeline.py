"""The demo's pipeline as a file, and that file read back: what a user would write, nothing more.

In: the addresses of the servers.  Out: `pipeline.toml`, which `wrackline check` takes too; the settings in
it; and the source that they open.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from wrackline.control.local.demo.shops.shop import Shop
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.contract.source_plugin import Source, Surroundings, WriterIds, load
from wrackline.schemas.pipelines import pipeline
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableSchema

FILE = "pipeline.toml"
SERVER = "demo"  # the first part of every topic's name

_TEXT = """name = "{server}"
topic.prefix = "{server}"
topic.creation.default.partitions = 2

[source]
connector.class = "{kind}"
database.hostname = "{host}"
database.port = {port}
{access}
table.include.list = ["{table}"]

[kafka]
bootstrap.servers = "{brokers}"

[schema.registry]
url = "{registry}"

[target]
run = "{merged_by}"
{target}

[consume]
trigger.interval.ms = 500

[spark]
master = "local[2]"
driver.memory = "1g"
"""


def write_pipeline(
    folder: Path,
    shop: Shop,
    *,
    brokers: str,
    registry: str,
    target: str,
    merged_by: str = "worker",
    server: str = SERVER,
) -> Path:
    """Write the pipeline's file and return its path; `target` is lines of it."""
    text = _TEXT.format(
        server=server,
        kind=shop.kind,
        host=shop.host,
        port=shop.port,
        access=shop.access,
        table=f"{shop.table.schema}.{shop.table.name}",
        brokers=brokers,
        registry=registry,
        target=target,
        merged_by=merged_by,
    )
    file = folder / FILE
    unfinished = file.with_suffix(".part")
    unfinished.write_text(text)
    return unfinished.replace(file)  # a process that waits for the file finds all of it


def read_pipeline(file: Path) -> Values:
    """Return the settings; the first that is at fault is raised."""
    checked = pipeline.load(file, Installed(), os.environ)
    if checked.values is None:
        raise next(problem.error for problem in checked.problems if not problem.warning)
    return checked.values


def open_source(values: Values, register: Callable[[TableSchema], WriterIds]) -> Source:
    """Open the source that the settings name."""
    around = Surroundings(time.monotonic, now_ms, register)
    return load(values.text("connector.class")).open(values, around)
