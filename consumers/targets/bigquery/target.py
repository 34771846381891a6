"""The target: a staged target whose files the driver uploads.

In: settings and a Spark session.  Out: the target.  Google's client is imported when it is
opened, and so is PySpark.
"""

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.targets.bigquery.config import BY_KEY, SETTINGS
from wrackline.consumers.targets.bigquery.limits import MOST_LABEL
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wrackline.consumers.staged.target import StagedTarget


class BigQueryPlugin:
    """What this folder offers."""

    kind = "bigquery"
    settings = SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Spark needs nothing of its own for this target."""
        del settings
        return SparkNeeds()

    def open(self, settings: Values, spark: "SparkSession") -> "StagedTarget[DataFrame]":
        """Connect once, so that wrong settings are found before anything is read."""
        from wrackline.consumers.staged.carriers import DriverCarrier  # noqa: PLC0415 - settings need no PySpark
        from wrackline.consumers.staged.target import StagedTarget  # noqa: PLC0415 - nor this
        from wrackline.consumers.targets.bigquery.connect import open_client  # noqa: PLC0415 - nor Google's client
        from wrackline.consumers.targets.bigquery.partitions import KeyPartitions  # noqa: PLC0415 - the same
        from wrackline.consumers.targets.bigquery.service import BigQueryService  # noqa: PLC0415 - the same
        from wrackline.consumers.targets.bigquery.session import JobPolicy  # noqa: PLC0415 - the same

        del spark  # a frame brings the session that it lives in
        cut = settings.text("target.partition") == BY_KEY
        partitions = KeyPartitions(settings.integer("target.partition.width") if cut else None)
        jobs = JobPolicy(settings.integer("target.job.timeout.ms") / 1000, {"wrackline": _label(settings)})
        batch_s = settings.integer("consume.trigger.interval.ms") / 1000
        service = BigQueryService(open_client(settings), partitions, jobs, batch_s)
        folder = Path(tempfile.mkdtemp(prefix="wrackline-bigquery-"))
        return StagedTarget(service, _layout(settings), DriverCarrier(folder))

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table, as OpenLineage names it."""
        view = _layout(settings).place(table).view
        return Located("bigquery", f"{settings.text('target.project')}.{view.schema}.{view.name}")


def _label(settings: Values) -> str:
    """Write the pipeline's name as a label may be."""
    return re.sub(r"[^a-z0-9_-]", "_", settings.text("name").lower())[:MOST_LABEL]


def _layout(settings: Values) -> StagedLayout:
    return StagedLayout(settings.text("target.schema"), settings.text("target.storage.schema"), RELATIONS)
