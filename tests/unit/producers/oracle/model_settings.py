"""A pipeline's settings for a database of the model, and the connector that they make."""

from pathlib import Path
from typing import Final

from tests.fixtures.oracle_model import LEAST, ModelOracle
from wrackline.producers.sources.oracle.config import SETTINGS
from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values

NEEDED: Final = LEAST
LOOKING: Final = ("SELECT ON V_$SESSION", "SELECT ON V_$RECOVERY_FILE_DEST")
GIVEN: Final = {
    "name": "shop",
    "connector.class": "oracle",
    "kafka.bootstrap.servers": "broker:9092",
    "schema.registry.url": "http://registry:8081",
    "topic.prefix": "shop",
    "database.hostname": "node1",
    "database.user": "c##w",
    "database.password": "geheim",
    "database.dbname": "orclcdb",
    "database.pdb.name": "shop1",
    "table.include.list": "SHOP[.].*",
}


def settings(**more: str) -> Values:
    """Read the settings; `__` in a name stands for a point."""
    given = {**GIVEN, **{name.replace("__", "."): text for name, text in more.items()}}
    given = {name: text for name, text in given.items() if text}
    read = SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))
    assert read.values is not None, read.problems
    return read.values


def model(*, threads: int = 1, pdb: str | None = "SHOP1") -> ModelOracle:
    """Make a database with a table, and a user who has what a pipeline needs, and what a check looks at."""
    made = ModelOracle(threads=threads, pdb=pdb)
    made.create_user("C##W", "geheim", *NEEDED, *LOOKING, "SELECT ON SHOP.ORDERS", "FLASHBACK ON SHOP.ORDERS")
    made.create_table("SHOP.ORDERS", {"ID": "NUMBER(10)", "NAME": "VARCHAR2(20)"}, key=("ID",))
    return made


def connector(model: ModelOracle, values: Values) -> OracleConnector:
    """Connect to it."""
    return OracleConnector(values, model.driver)
