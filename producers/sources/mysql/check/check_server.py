"""The findings about the server itself: its version, its log, its GTIDs, its numbers.

    MySqlServerFacts, and what the server showed to our user  ->  findings

Pure, except for the three statements that ask which others read the log and what it leaves out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pymysql
from pymysql.connections import Connection

from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.mysql.check import check_rules as rules
from wrackline.producers.sources.mysql.chunks.marks import FENCE_WITHOUT_GTIDS
from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.connect.server_errors import RIGHTS
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts
from wrackline.schemas.language.findings import Finding

OLDEST = {Flavour.MYSQL: (8, 0), Flavour.MARIADB: (10, 5)}
TRIED = {Flavour.MYSQL: ((9, 7),), Flavour.MARIADB: ((10, 11), (11, 4))}
DAY_S = 86_400


def lasting_set_words(facts: MySqlServerFacts) -> dict[str, str]:
    """Return how an administrator sets a setting so that it stays, as far as the server allows."""
    if facts.flavour is Flavour.MYSQL:
        return {"keep": "SET PERSIST", "stays": ""}
    return {
        "keep": "SET GLOBAL",
        "stays": "; and below [mysqld] in the server's file, or a restart undoes it",
    }


def version(facts: MySqlServerFacts) -> Iterator[Finding]:
    """Report a version that is too old or untested."""
    name, number = facts.flavour.value, facts.version
    if facts.number < OLDEST[facts.flavour]:
        yield rules.VERSION_OLD(flavour=name, version=number)
    elif facts.number[:2] not in TRIED[facts.flavour]:
        yield rules.VERSION_UNTRIED(flavour=name, version=number)


def log(facts: MySqlServerFacts) -> Iterator[Finding]:
    """Report what the log lacks, and how soon it is deleted."""
    if not facts.on("log_bin"):
        yield rules.BINLOG_OFF()
        return
    if facts.text("binlog_format") not in {"ROW", ""}:  # a server that knows only rows may say nothing
        yield rules.BINLOG_FORMAT(None, format=facts.text("binlog_format"), **lasting_set_words(facts))
    if facts.text("binlog_row_image") != "FULL":
        yield rules.BINLOG_ROW_IMAGE(None, image=facts.text("binlog_row_image"), **lasting_set_words(facts))
    if facts.text("binlog_row_metadata") != "FULL":
        yield rules.BINLOG_ROW_METADATA(
            None, metadata=facts.text("binlog_row_metadata"), **lasting_set_words(facts)
        )
    yield from _retention(facts)


def _retention(facts: MySqlServerFacts) -> Iterator[Finding]:
    seconds = facts.log_kept_s
    if 0 < seconds < DAY_S:
        hours = f"{seconds / 3600:.1f}"
        yield rules.RETENTION_SHORT(None, seconds=seconds, hours=hours, **lasting_set_words(facts))
    if facts.log_limit is not None:
        setting, size = facts.log_limit
        yield rules.LOG_SIZE_LIMIT(None, setting=setting, size=size, **lasting_set_words(facts))


def gtids(facts: MySqlServerFacts) -> Iterator[Finding]:
    """Report it if transactions can't be found again on another server."""
    if facts.flavour is Flavour.MARIADB:
        if not facts.on("gtid_strict_mode"):
            yield rules.GTIDS_LOOSE(None, **lasting_set_words(facts))
    elif not facts.gtids or facts.text("enforce_gtid_consistency") != "ON":
        mode, consistency = facts.text("gtid_mode"), facts.text("enforce_gtid_consistency")
        yield rules.GTIDS_OFF(mode=mode, consistency=consistency)


def marks(facts: MySqlServerFacts, kind: MarkKind) -> Iterator[Finding]:
    """Report it if the place of a chunk can't be found again in the log."""
    if facts.gtids:
        return
    if kind is MarkKind.FENCE:
        yield error_finding(FENCE_WITHOUT_GTIDS(mode=facts.text("gtid_mode")), impact=rules.NO_ROWS)
    elif facts.text("binlog_order_commits") == "OFF":
        yield rules.COMMITS_UNORDERED(None, **lasting_set_words(facts))


def numbers(connection: "Connection[Any]", facts: MySqlServerFacts, ours: int) -> Iterator[Finding]:
    """Report it if our number among the readers of the log is not only ours."""
    own = facts.count("server_id")
    taken = {own, ours}
    if own == 0:
        yield rules.SERVER_ID_ZERO(None, free=1, **lasting_set_words(facts))
    if own == ours:
        yield rules.SERVER_ID_SAME(number=ours, free=_free(taken))
    others = readers(connection, facts) or []
    taken |= {other.number for other in others}
    for other in others:
        if other.number == ours and other.port:
            yield rules.SERVER_ID_TAKEN(number=ours, who=other.who, free=_free(taken))


class LogReader(NamedTuple):
    """A reader of the server's log; we register without a port, and every server with its own port."""

    number: int
    port: int
    who: str


def readers(connection: "Connection[Any]", facts: MySqlServerFacts) -> list[LogReader] | None:
    """List the readers of the log; None where we may not ask."""
    listed = "SHOW REPLICAS" if facts.flavour is Flavour.MYSQL else "SHOW REPLICA HOSTS"
    shown = _permitted(connection, listed)
    if shown is None:
        return None
    return [
        LogReader(
            int(row["server_id"]),
            int(row["port"]),
            str(row.get("replica_uuid") or row["host"] or "a server without report_host"),
        )
        for row in map(_lower, shown)
    ]


def unlogged_findings(status: Sequence[dict[str, Any]], databases: Iterable[str]) -> Iterator[Finding]:
    """Report captured databases that the server keeps out of its log; `status` is its status of the log."""
    for row in status:
        shown = _lower(row)
        only, without = (
            [name.strip() for name in str(shown.get(column) or "").split(",") if name.strip()]
            for column in ("binlog_do_db", "binlog_ignore_db")
        )
        for database in sorted(set(databases)):
            if only and database not in only:
                yield rules.LOG_LEAVES_OUT(option="binlog_do_db", database=database)
            elif database in without:
                yield rules.LOG_LEAVES_OUT(option="binlog_ignore_db", database=database)


def replica(connection: "Connection[Any]", facts: MySqlServerFacts) -> Iterator[Finding]:
    """Report a replica that does not log what it replicates."""
    setting = "log_replica_updates" if facts.text("log_replica_updates") else "log_slave_updates"
    if facts.on(setting):
        return
    shown = _permitted(connection, "SHOW REPLICA STATUS")
    if shown is None:  # MariaDB needs an extra right here, but shows the count to every user
        shown = query_dicts(
            connection, "SHOW GLOBAL STATUS WHERE Variable_name = 'Slaves_running' AND Value > 0"
        )
    if shown:
        yield rules.REPLICA_UNLOGGED(setting=setting)


def _permitted(connection: "Connection[Any]", statement: str) -> list[dict[str, Any]] | None:
    """Ask; None where our user may not, which is not a fault: the answer is only useful, not needed."""
    try:
        return query_dicts(connection, statement)
    except pymysql.err.MySQLError as exc:
        if exc.args and exc.args[0] in RIGHTS:
            return None
        raise


def _lower(row: dict[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in row.items()}


def _free(taken: set[int]) -> int:
    return next(number for number in range(max(taken) + 1, max(taken) + 2 + len(taken)))
