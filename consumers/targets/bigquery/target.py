"""BigQuery's datasets as a target: the staged target (consumers/staged/) over this folder's service."""

import re
from typing import TYPE_CHECKING

from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.staged.service import UPKEEP_MS
from wrackline.consumers.staged.target import TRUST_S, StagedTarget
from wrackline.consumers.targets.bigquery.config import BY_KEY
from wrackline.consumers.targets.bigquery.connect import open_client
from wrackline.consumers.targets.bigquery.limits import MOST_LABEL
from wrackline.consumers.targets.bigquery.partitions import KeyPartitions
from wrackline.consumers.targets.bigquery.service import BigQueryService
from wrackline.consumers.targets.bigquery.session import JobPolicy
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.schemas.settings.settings_registry import Values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def open_bigquery(settings: Values, trust_s: float = TRUST_S) -> "StagedTarget[DataFrame]":
    """Connect once, so that wrong settings are found before anything is read."""
    cut = settings.text("target.partition") == BY_KEY
    partitions = KeyPartitions(settings.integer("target.partition.width") if cut else None)
    jobs = JobPolicy(settings.integer("target.job.timeout.ms") / 1000, {"wrackline": job_label(settings)})
    batch_s = settings.integer("consume.trigger.interval.ms") / 1000
    is_set = settings["consume.upkeep.interval.ms"] is not None
    upkeep_ms = settings.integer("consume.upkeep.interval.ms") if is_set else UPKEEP_MS
    service = BigQueryService(open_client(settings), partitions, jobs, batch_s, upkeep_ms / 1000)
    return StagedTarget(service, read_layout(settings, RELATIONS), DriverCarrier(), trust_s)


def job_label(settings: Values) -> str:
    """Write the pipeline's name as a label of a job may be."""
    return re.sub(r"[^a-z0-9_-]", "_", settings.text("name").lower())[:MOST_LABEL]
