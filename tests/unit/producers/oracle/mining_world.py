"""A model of a database, and what mines it."""

from collections.abc import Callable
from pathlib import Path

from tests.fixtures.oracle_model import READER, ModelOracle
from wrackline.producers.sources.oracle.config import SETTINGS
from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.discover.facts import OracleLook, OracleTableFacts
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.log_miner import LogMiner, MiningScope, MiningSteps
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.mined_row import ROW_OPERATIONS
from wrackline.producers.sources.oracle.mining.safe_scn import safe_scn
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.tables.table import TableId

GIVEN = {
    "name": "shop",
    "connector.class": "oracle",
    "kafka.bootstrap.servers": "broker:9092",
    "schema.registry.url": "http://registry:8081",
    "topic.prefix": "shop1",
    "database.hostname": "node1",
    "database.user": "c##reader",
    "database.password": "geheim",
    "database.dbname": "ORCLCDB",
}
PDB = "ORCLPDB1"


def settings(**more: str) -> Values:
    """Read settings; `__` stands for a dot."""
    given = {**GIVEN, **{name.replace("__", "."): text for name, text in more.items()}}
    read = SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))
    assert read.values is not None, read.problems
    return read.values


class MiningWorld:
    """A database with a table, whose log is mined from here on."""

    def __init__(self, threads: int = 1, pdb: str | None = PDB, **more: str) -> None:
        self.model = ModelOracle(threads=threads, pdb=pdb)
        self.model.create_user("C##READER", "geheim", *READER)
        self.model.create_table("SHOP.ORDERS", {"ID": "NUMBER(10)", "NAME": "VARCHAR2(4000)"}, key=("ID",))
        if pdb is not None:
            more["database__pdb__name"] = pdb
        self.settings = settings(**more)
        self.connector = OracleConnector(self.settings, self.model.driver)
        self.safe = safe_scn(self.connector, self.settings)
        self.looked = 0
        self.now = 0.0
        self.begin()

    def begin(self, after: int | None = None, steps: MiningSteps | None = None) -> None:
        """Make a miner that begins behind an SCN, or here: what comes now may have the current one."""
        self.miner = LogMiner(
            self.connector.connect_root,
            self.safe,
            MiningScope(self.incarnation, self.connector.container),
            self.model.database.next_scn() - 1 if after is None else after,
            self.look,
            steps or MiningSteps.of(self.settings),
            lambda: self.now,
        )

    @property
    def incarnation(self) -> Incarnation:
        database = self.model.database
        return Incarnation(database.resetlogs_scn, database.database_id)

    def look(self) -> OracleLook:
        """Look at the tables of one owner."""
        self.looked += 1
        known = {
            table.object_id: OracleTableFacts(TableId("DB", table.owner, table.name), table.object_id)
            for table in self.model.database.tables.values()
            if table.owner == "SHOP"
        }
        return OracleLook({number: facts.id for number, facts in known.items()}, known)

    def mine(self) -> list[MinedPiece]:
        """Mine one range."""
        return list(self.miner.mine())

    def catch_up(self, until: Callable[[], bool] | None = None) -> list[MinedPiece]:
        """Mine until nothing more is safe."""
        pieces = self.mine()
        while self.miner.behind or (until is not None and not until()):
            pieces += self.mine()
        return pieces


def redo(pieces: list[MinedPiece]) -> list[str]:
    """Return the statements of the rows that changed."""
    return [row.redo for piece in pieces for row in piece.rows if row.operation in ROW_OPERATIONS]


def ends(pieces: list[MinedPiece]) -> list[int]:
    """Return the ends of ranges."""
    return [piece.upto for piece in pieces if piece.upto is not None]
