"""PostgreSQL 14 has no server here, so our SQL is held against what came after it.

Each name below is of a catalogue column, view, function, setting or statement that 14 does not have.  It may
stand in our SQL only where its lack is no error (a key of a row's JSON, a look-up in pg_settings) or where
the server's version was asked before; each such place is listed with its reason.
"""

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wrackline.producers.sources.postgres.follow import publication_fit
from wrackline.producers.sources.postgres.log import slot
from wrackline.schemas.errors import OperatorNeeded

FOLDER = Path(__file__).parents[2] / "producers" / "sources" / "postgres"
NEWER = {
    15: "prqual prattrs rowfilter attnames pg_publication_namespace pnpubid pnnspid indnullsnotdistinct"
    " datlocprovider pg_stat_subscription_stats pg_parameter_acl",
    16: "conflicting pg_stat_io pg_split_walfile_name pg_log_standby_snapshot any_value",
    17: "invalidation_reason failover synced inactive_since pg_sync_replication_slots transaction_timeout"
    " synchronized_standby_slots colllocale pg_wal_summary",
    18: "pubgencols two_phase_at publish_generated_columns idle_replication_slot_timeout pg_get_acl",
}
WORDS = re.compile(rf"\b({'|'.join(word for words in NEWER.values() for word in words.split())})\b")
SQL = re.compile(r"\b(SELECT|ALTER|CREATE|GRANT|LOCK|SET|WITH RECURSIVE)\b")
KNOWN = {
    ("check_slot.py", "failover"): "a key of the row's JSON",
    ("check_server.py", "idle_replication_slot_timeout"): "a look-up in pg_settings",
    ("check_server.py", "synchronized_standby_slots"): "asked with missing_ok",
    ("check_rules.py", "synchronized_standby_slots"): "a hint for 17, where slot.failover is",
    ("check_rules.py", "idle_replication_slot_timeout"): "a hint of what only 18 can find",
    ("check_rules.py", "failover"): "a hint's prose",
    ("check_tables.py", "publish_generated_columns"): "a hint from 18 on",
    ("continuity.py", "synchronized_standby_slots"): "a hint that says from which version on",
    ("publication_fit.py", "pg_publication_namespace"): "from 15 on",
    ("publication_fit.py", "pnpubid"): "from 15 on",
    ("publication_fit.py", "pnnspid"): "from 15 on",
    ("generated_columns.py", "pubgencols"): "from 18 on",
    ("catalogue_snapshot.py", "pubgencols"): "a key of the row's JSON",
    ("catalogue_snapshot.py", "prattrs"): "a key of the row's JSON",
    ("generated_columns.py", "prattrs"): "from 18 on",
    ("publication_fit.py", "rowfilter"): "a key of the row's JSON",
    ("publication_fit.py", "attnames"): "a key of the row's JSON",
    ("slot.py", "invalidation_reason"): "a key of the row's JSON",
}


def texts(file: Path) -> list[str]:
    """Every text of a module that has SQL in it, but for what documents the module."""
    tree = ast.parse(file.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
        if SQL.search(node.value)
    ]


def test_what_14_lacks_is_used_only_where_its_lack_is_no_error() -> None:
    used = {
        (file.name, word)
        for file in FOLDER.rglob("*.py")
        for text in texts(file)
        for word in WORDS.findall(text)
    }
    assert used - KNOWN.keys() == set()


class Recorder:
    """Stands for a server of a version that is not here, and remembers what it was asked."""

    def __init__(self, version: int) -> None:
        self.info = SimpleNamespace(server_version=version, dbname="d", user="u")
        self.asked: list[str] = []
        self.closed = False

    def execute(self, query: Any, values: object = None) -> Any:
        del values
        self.asked.append(str(query))
        return Answer([("0/10",)] if "pg_create" in str(query) else [])


class Answer(list[tuple[str]]):
    """Rows."""

    def fetchone(self) -> tuple[str] | None:
        return self[0] if self else None

    def fetchall(self) -> list[tuple[str]]:
        return self


@pytest.mark.parametrize(("version", "asks"), [(140_012, False), (150_000, True)])
def test_schemas_of_a_publication_are_asked_for_from_15_on(*, version: int, asks: bool) -> None:
    server: Any = Recorder(version)
    publication_fit.publication_scope(server, "p")
    assert any("pg_publication_namespace" in query for query in server.asked) is asks


def test_a_slot_that_fails_over_is_asked_for_from_17_on() -> None:
    for version in (140_012, 160_000):
        with pytest.raises(OperatorNeeded, match=r"slot\.failover needs PostgreSQL 17"):
            made_by(version, failover=True)
        assert made_by(version, failover=False).endswith("(%s, 'pgoutput')")
    assert made_by(170_000, failover=True).endswith("(%s, 'pgoutput', false, false, true)")


def made_by(version: int, *, failover: bool) -> str:
    """The statement that makes a slot."""
    server: Any = Recorder(version)
    slot.create_slot(server, "s", failover=failover)
    return str(next(query for query in server.asked if "pg_create" in query))
