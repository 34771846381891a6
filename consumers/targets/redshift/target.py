"""A Redshift database as a target: the staged target (consumers/staged/) over this folder's service."""

from dataclasses import replace

from pyspark.sql import DataFrame

from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.places import StagedLayout, read_layout
from wrackline.consumers.staged.service import StagedService
from wrackline.consumers.staged.target import TRUST_S, Frame, StagedTarget
from wrackline.consumers.targets.redshift.carrier import StoreCarrier, write_by_spark
from wrackline.consumers.targets.redshift.check import RedshiftCheck
from wrackline.consumers.targets.redshift.config import (
    BY_SPARK,
    DEFAULT_ROLE,
    SMALL,
    executors_write,
    read_endpoint,
)
from wrackline.consumers.targets.redshift.connect import read_cluster
from wrackline.consumers.targets.redshift.dialect import IDENTIFIERS
from wrackline.consumers.targets.redshift.service import RedshiftService
from wrackline.consumers.targets.redshift.session import CopyRole
from wrackline.consumers.targets.redshift.store import open_store
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId


class RedshiftTarget(StagedTarget[Frame]):
    """The tables of one pipeline, and its files in the store."""

    def __init__(
        self,
        service: StagedService,
        layout: StagedLayout,
        carrier: StoreCarrier[Frame],
        trust_s: float = TRUST_S,
    ) -> None:
        super().__init__(service, layout, carrier, trust_s)
        self._files = carrier

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Remove old files of any of the pipeline's tables too: those of a crash belong to no batch."""
        done = super().upkeep(table, forget_before_ms=forget_before_ms)
        files = done.removed.get(UpkeepRemoval.FILES, 0) + self._files.sweep()
        return replace(done, removed={**done.removed, UpkeepRemoval.FILES: files})


def open_redshift(settings: Values, trust_s: float = TRUST_S) -> RedshiftTarget[DataFrame]:
    """Connect once, so that wrong settings are found before anything is read."""
    cluster, store = read_cluster(settings), open_store(settings)
    cluster.connect().close()
    arn = settings.text("target.iam.role")
    role = CopyRole(None if arn == DEFAULT_ROLE else arn)
    carrier = StoreCarrier(
        store,
        DriverCarrier(),
        write_by_spark if executors_write(settings) else None,
        -1 if settings.text("target.writer") == BY_SPARK else SMALL,
    )
    endpoint = read_endpoint(settings.text("target.hostname"))
    check = RedshiftCheck(role, store, endpoint, settings.integer("consume.trigger.interval.ms"))
    service = RedshiftService(cluster.connect, role, check)
    return RedshiftTarget(service, read_layout(settings, IDENTIFIERS), carrier, trust_s)
