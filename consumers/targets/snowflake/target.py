"""A Snowflake database as a target: the staged target (consumers/staged/) over this folder's service."""

from typing import TYPE_CHECKING

from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.staged.target import TRUST_S, StagedTarget
from wrackline.consumers.targets.snowflake.check import SnowflakeFacts
from wrackline.consumers.targets.snowflake.connect import read_account
from wrackline.consumers.targets.snowflake.dialect import IDENTIFIERS
from wrackline.consumers.targets.snowflake.service import SnowflakeService
from wrackline.schemas.settings.settings_registry import Values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def open_snowflake(settings: Values, trust_s: float = TRUST_S) -> "StagedTarget[DataFrame]":
    """Connect once, so that wrong settings are found before anything is read."""
    account = read_account(settings)
    account.connect().close()
    facts = SnowflakeFacts(
        settings.text("target.warehouse"),
        settings.text("target.dbname"),
        settings.integer("consume.trigger.interval.ms"),
    )
    service = SnowflakeService(account.connect, facts)
    return StagedTarget(service, read_layout(settings, IDENTIFIERS), DriverCarrier(), trust_s)
