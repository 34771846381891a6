"""What the preflight finds on real servers, each obstacle, repaired by what it prints."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pymysql
import pytest
from pymysql.constants import COMMAND

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.world import FLAVOURS, OF_PATH, root, run, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.sources.mysql.check import check_tables
from wrackline.producers.sources.mysql.check.check import check, support
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts, replica_id
from wrackline.producers.sources.mysql.connect.quoting import account, identifier
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.schemas.language.findings import Finding, Support
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

DATABASE, TABLE, READER = "odd `Db' 1", "weird `Na\"me'", "odd 'reader\\ é"
NAMES = {
    "database": identifier(DATABASE),
    "table": f"{identifier(DATABASE)}.{identifier(TABLE)}",
    "parent": f"{identifier(DATABASE)}.`parent, all`",
    "signals": f"{identifier(DATABASE)}.`signals`",
    "reader": account(READER),
}
MADE = (
    "DROP DATABASE IF EXISTS {database}",
    "CREATE DATABASE {database}",
    "CREATE TABLE {parent} (id int PRIMARY KEY, `n``o` int, UNIQUE KEY (id, `n``o`))",
    "CREATE TABLE {table} (id int NOT NULL, up int, `o``n` int, PRIMARY KEY (id), KEY (up, `o``n`))",
    "DROP USER IF EXISTS {reader}",
    "CREATE USER {reader} IDENTIFIED BY 'geheim'",
    "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {reader}",
    "GRANT SELECT ON {parent} TO {reader}",
    "GRANT SELECT ON {table} TO {reader}",
    "GRANT DELETE ON {table} TO {reader}",  # so that it is seen without SELECT
)
SIGNALS = {
    "signal.data.collection": f"{DATABASE}.signals",
    "incremental.snapshot.watermarking.strategy": "insert_insert",
}
STATEMENT = re.compile(r"\b(?:SET (?:PERSIST|GLOBAL)|GRANT|(?:ALTER|CREATE) TABLE)\b[^;]*")
BROKEN: Mapping[str, tuple[str, ...]] = {
    "mysql.binlog_format": ("SET GLOBAL binlog_format = STATEMENT",),
    "mysql.binlog_row_image": ("SET GLOBAL binlog_row_image = MINIMAL",),
    "mysql.binlog_row_metadata": ("SET GLOBAL binlog_row_metadata = MINIMAL",),
    "mysql.retention_short": ("SET GLOBAL binlog_expire_logs_seconds = 7200",),
    "mysql.replication_slave_missing": ("REVOKE REPLICATION SLAVE ON *.* FROM {reader}",),
    "mysql.replication_client_missing": ("REVOKE REPLICATION CLIENT ON *.* FROM {reader}",),
    "mysql.select_missing": ("REVOKE SELECT ON {table} FROM {reader}",),
    "mysql.key_missing": ("ALTER TABLE {table} DROP PRIMARY KEY",),
    "mysql.no_transactions": ("ALTER TABLE {table} ENGINE = MyISAM",),
    "mysql.rows_elsewhere": ("ALTER TABLE {table} ENGINE = MEMORY",),
}
CASCADING = (
    "ALTER TABLE {table} ADD CONSTRAINT `it's ``one` FOREIGN KEY (up, `o``n`)"
    " REFERENCES {parent} (id, `n``o`) ON DELETE CASCADE ON UPDATE SET NULL"
)
MARIADB: Mapping[str, tuple[str, ...]] = {
    "mysql.gtids_loose": ("SET GLOBAL gtid_strict_mode = OFF",),
    "mysql.cascade_unlogged": (CASCADING,),
}
BROKEN_HERE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "mariadb": {**MARIADB, "mysql.log_size_limit": ("SET GLOBAL max_binlog_total_size = 1048576",)},
    OF_PATH: MARIADB,  # 10.11 has no such limit
    "mysql": {
        "mysql.server_id_zero": ("SET GLOBAL server_id = 0",),
        "mysql.xa_recover_missing": ("REVOKE XA_RECOVER_ADMIN ON *.* FROM {reader}",),
        "mysql.gtids_off": (
            "SET GLOBAL gtid_mode = ON_PERMISSIVE",
            "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
            "SET GLOBAL gtid_mode = OFF",
            "SET GLOBAL enforce_gtid_consistency = OFF",
        ),
    },
}


@dataclass
class Odd:
    """A server with a database in which everything has an odd name."""

    name: str
    server: MysqlServer

    @property
    def flavour(self) -> str:
        return self.name.split()[0]

    def run(self, *statements: str) -> None:
        """Run as root; the placeholders are names."""
        run(self.server, *(statement.format_map(NAMES) for statement in statements))

    def settings(self, **more: str) -> dict[str, str]:
        return {
            "database.user": READER,
            "database.password": "geheim",
            "database.allowPublicKeyRetrieval": "true",
            "table.include.list": r"odd .Db. 1\.(?!signals).*",
            **more,
        }

    def found(self, *tables: TableId, **more: str) -> list[Finding]:
        settings = settings_of(self.server, **self.settings(**more))
        return list(check(MySqlServer(settings), settings, tables))

    def ids(self, *tables: TableId, **more: str) -> set[str]:
        return {finding.id for finding in self.found(*tables, **more)}

    def fix(self, code: str, **more: str) -> None:
        """Paste what the finding prints."""
        [finding] = [one for one in self.found(**more) if one.id == code]
        printed = STATEMENT.findall(finding.suggestion)
        assert printed, finding.suggestion
        if any(statement.startswith("SET") for statement in printed):  # and a restart must not undo it
            assert ("SET GLOBAL" in finding.suggestion) == ("[mysqld]" in finding.suggestion)
            assert ("SET PERSIST" in finding.suggestion) == (self.flavour == "mysql")
        run(self.server, *(statement.replace("(...)", "(id)") for statement in printed))


@pytest.fixture(scope="module", params=alternatives([*FLAVOURS, OF_PATH]))
def server(started: Callable[[str], MysqlServer], request: pytest.FixtureRequest) -> MysqlServer:
    return started(request.param)


@pytest.fixture
def odd(server: MysqlServer, request: pytest.FixtureRequest) -> Iterator[Odd]:
    made = Odd(request.node.callspec.params["server"], server)
    made.run(*MADE)
    if made.flavour == "mysql":
        made.run("GRANT XA_RECOVER_ADMIN ON *.* TO {reader}")
    yield made
    made.run("DROP DATABASE {database}", "DROP USER {reader}")
    if made.flavour == "mysql":
        made.run("RESET PERSIST")


def test_a_good_server_has_no_findings(odd: Odd) -> None:
    assert odd.found() == []


@pytest.mark.parametrize("code", [*BROKEN, *BROKEN_HERE["mariadb"], *BROKEN_HERE["mysql"]])
def test_each_finding_is_repaired_by_what_it_prints(odd: Odd, code: str) -> None:
    breaks = ({**BROKEN, **BROKEN_HERE[odd.name]}).get(code)
    if breaks is None:
        pytest.skip(f"{odd.name} has no such setting, or nothing to fix there")
    odd.run(*breaks)
    assert code in odd.ids()
    odd.fix(code)
    assert odd.ids() == set()


def test_a_signal_table_is_made_and_granted_by_what_is_printed(odd: Odd) -> None:
    assert odd.ids(**SIGNALS) == {"mysql.signal_table_unwritable"}
    odd.fix("mysql.signal_table_unwritable", **SIGNALS)
    assert odd.ids(**SIGNALS) == set()
    odd.run("REVOKE INSERT ON {signals} FROM {reader}")
    assert odd.ids(**SIGNALS) == {"mysql.signal_table_unwritable"}
    odd.fix("mysql.signal_table_unwritable", **SIGNALS)
    assert odd.ids(**SIGNALS) == set()
    with root(odd.server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM {signals}".format_map(NAMES))
        assert cursor.fetchone() == (0,)  # a check writes nothing


def test_marks_that_the_settings_do_not_allow_are_said_before_a_row_is_read(odd: Odd) -> None:
    odd.run("CREATE TABLE {signals} (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))")
    odd.run("GRANT SELECT, INSERT ON {signals} TO {reader}")
    strategy = "incremental.snapshot.watermarking.strategy"
    assert odd.ids(**SIGNALS, **{"read.only": "true"}) == {"mysql.marks_write"}
    assert odd.ids(**{strategy: "insert_insert"}) == {"mysql.marks_nowhere"}
    assert odd.ids(**{strategy: "message"}) == {"mysql.marks_unsaid"}


def test_a_server_that_takes_no_writes_has_no_use_for_a_signal_table(odd: Odd) -> None:
    odd.run("CREATE TABLE {signals} (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))")
    odd.run("GRANT SELECT, INSERT ON {signals} TO {reader}", "SET GLOBAL read_only = ON")
    try:
        assert odd.ids(**SIGNALS) == {"mysql.server_read_only"}
        assert odd.ids() == set()
    finally:
        odd.run("SET GLOBAL read_only = OFF")


def test_cascades_that_mysql_logs_are_no_finding(odd: Odd) -> None:
    if odd.flavour != "mysql":
        pytest.skip("its log does not have them")
    odd.run(CASCADING)
    assert odd.ids() == set()


def test_foreign_keys_that_cannot_be_seen_do_not_end_the_check(odd: Odd) -> None:
    odd.run("REVOKE SELECT ON {table} FROM {reader}")
    with MySqlServer(settings_of(odd.server, **odd.settings())).connect() as connection:
        for name in (TABLE, "dropped since"):
            assert list(check_tables.cascades(connection, TableId(DATABASE, DATABASE, name))) == []


def test_without_gtids_only_signals_mark_and_only_with_commits_in_order(odd: Odd) -> None:
    if odd.flavour != "mysql":
        pytest.skip("its transactions always have one")
    odd.run("CREATE TABLE {signals} (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))")
    odd.run("GRANT SELECT, INSERT ON {signals} TO {reader}")
    odd.run(*BROKEN_HERE["mysql"]["mysql.gtids_off"], "SET GLOBAL binlog_order_commits = OFF")
    assert odd.ids() == {"mysql.gtids_off", "mysql.fence_without_gtids"}
    assert odd.ids(**SIGNALS) == {"mysql.gtids_off", "mysql.commits_unordered"}
    odd.fix("mysql.commits_unordered", **SIGNALS)
    assert odd.ids(**SIGNALS) == {"mysql.gtids_off"}
    odd.fix("mysql.gtids_off")
    assert odd.ids() == set()


def test_our_number_may_not_be_the_servers(odd: Odd) -> None:
    [finding] = odd.found(**{"database.server.id": "1"})
    assert finding.id == "mysql.server_id_same"
    free = finding.suggestion.rpartition("=")[2]
    assert odd.found(**{"database.server.id": free}) == []


def test_another_replica_with_our_number_is_named(odd: Odd) -> None:
    """T-M10."""
    settings = settings_of(odd.server, **odd.settings())
    with root(odd.server) as other:
        host = b"replica-7"
        asked = replica_id(settings).to_bytes(4, "little") + bytes([len(host)]) + host + b"\0\0"
        asked += (3310).to_bytes(2, "little") + bytes(8)
        other._execute_command(COMMAND.COM_REGISTER_SLAVE, asked)  # type: ignore[attr-defined]
        other._read_packet()  # type: ignore[no-untyped-call]
        if odd.flavour == "mariadb":
            odd.run("GRANT REPLICATION MASTER ADMIN ON *.* TO {reader}")
        [finding] = odd.found()
    assert finding.id == "mysql.server_id_taken"
    assert "replica-7" in finding.description
    free = finding.suggestion.partition("database.server.id = ")[2].partition(";")[0]
    assert free not in {"1", str(replica_id(settings))}


def test_our_own_reader_which_has_no_port_is_no_other_replica(odd: Odd) -> None:
    settings = settings_of(odd.server, **odd.settings())
    if odd.flavour == "mariadb":
        odd.run("GRANT REPLICATION MASTER ADMIN ON *.* TO {reader}")
    with root(odd.server) as ours:
        asked = replica_id(settings).to_bytes(4, "little") + bytes(13)
        ours._execute_command(COMMAND.COM_REGISTER_SLAVE, asked)  # type: ignore[attr-defined]
        ours._read_packet()  # type: ignore[no-untyped-call]
        assert odd.found() == []


@pytest.mark.parametrize("number", ["replica_id", "second_id", "third_id"])
def test_a_check_does_not_disconnect_a_log_reader_with_one_of_our_server_ids(odd: Odd, number: str) -> None:
    server = MySqlServer(settings_of(odd.server, **odd.settings()))
    reader = server.connect()
    [status] = query_dicts(reader, facts_of(reader).log_status)
    query_dicts(reader, "SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'")
    # without it MariaDB ends a reader at the first XA transaction, which earlier tests may have left there
    query_dicts(reader, "SET @mariadb_slave_capability = 4")
    asked = struct.pack("<IHI", 4, 0, getattr(server, number)) + str(status["File"]).encode()
    reader._execute_command(COMMAND.COM_BINLOG_DUMP, asked)  # type: ignore[attr-defined]
    reader._read_packet()  # type: ignore[no-untyped-call]
    assert odd.found() == []
    with root(odd.server) as connection:
        commands = {row["Id"]: row["Command"] for row in query_dicts(connection, "SHOW PROCESSLIST")}
        thread = reader.thread_id()  # type: ignore[no-untyped-call]
        assert commands[thread] == "Binlog Dump"
        query_dicts(connection, f"KILL {thread}")


def test_a_table_that_is_not_there_is_named(odd: Odd) -> None:
    gone = TableId(DATABASE, DATABASE, "gone")
    [finding] = odd.found(gone)
    assert (finding.id, finding.table) == ("mysql.table_absent", gone)


def test_a_pattern_that_means_nothing_is_named(odd: Odd) -> None:
    assert odd.ids(**{"table.include.list": r"odd .Db. 1\.gone"}) == {
        "filter.matches_nothing",
        "mysql.no_tables",
    }


def test_a_table_without_a_key_is_read_with_the_rights_that_are_printed(odd: Odd) -> None:
    odd.run("ALTER TABLE {table} DROP PRIMARY KEY")
    lacking = ["RELOAD ON *.*", "LOCK TABLES ON {database}.*".format_map(NAMES)]
    lacking = lacking if odd.flavour == "mysql" else lacking[:1]
    found = [one for one in odd.found() if one.id == "mysql.key_rights_missing"]
    assert [one.suggestion.partition("GRANT ")[2].partition(" TO ")[0] for one in found] == lacking
    assert odd.ids(**{"snapshot.mode": "no_data"}) == {"mysql.key_missing"}
    for one in found:
        run(odd.server, *(text for text in STATEMENT.findall(one.suggestion) if text.startswith("GRANT")))
    assert odd.ids() == {"mysql.key_missing"}
    with root(odd.server) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO {table} VALUES (1, 1, 1)".format_map(NAMES))  # nothing is left locked


def test_rules_that_no_column_or_key_fits_are_named(odd: Odd) -> None:
    where = r"odd .Db. 1\.weird .Na.me.\."
    assert odd.ids(**{"column.exclude.list": where + "gone"}) == {"filter.matches_nothing"}
    assert odd.ids(**{"column.exclude.list": where + "id"}) == {"filter.key_left_out"}
    assert odd.ids(**{"column.mask.with.10.chars": where + "gone"}) == {"filter.matches_nothing"}
    assert odd.ids(**{"column.include.list": where + r"(id|up),odd .Db. 1\.parent.*\..*"}) == set()
    assert odd.ids(**{"message.key.columns": where[:-2] + ":gone"}) == {"filter.key_column_missing"}


def test_excluded_columns_need_no_right(odd: Odd) -> None:
    odd.run("REVOKE SELECT ON {table} FROM {reader}", "GRANT SELECT (id, up) ON {table} TO {reader}")
    assert odd.ids() == {"mysql.select_missing"}
    assert odd.ids(**{"column.exclude.list": r".*\.o.n"}) == set()


def test_a_unique_key_counts_only_whole_and_without_nulls(odd: Odd) -> None:
    odd.run("ALTER TABLE {table} DROP PRIMARY KEY, ADD UNIQUE KEY (up), ADD t text NOT NULL")
    odd.run("GRANT RELOAD ON *.* TO {reader}", "GRANT LOCK TABLES ON {database}.* TO {reader}")
    assert odd.ids() == {"mysql.key_missing"}
    odd.run("ALTER TABLE {table} ADD UNIQUE KEY (t(10))")
    assert odd.ids() == {"mysql.key_missing"}
    odd.run("ALTER TABLE {table} MODIFY up int NOT NULL")
    assert odd.ids() == set()


def test_support_says_how_far_each_column_is_carried(odd: Odd) -> None:
    odd.run("ALTER TABLE {table} ADD wide decimal(60,2)")
    settings = settings_of(odd.server, **odd.settings())
    with MySqlServer(settings).connect() as connection:
        found = {
            one.column: one.support
            for one in support(connection, settings, TableId(DATABASE, DATABASE, TABLE))
        }
    assert found == {"id": Support.YES, "up": Support.YES, "o`n": Support.YES, "wide": Support.PARTIAL}


def test_a_check_leaves_the_log_as_it_was(odd: Odd) -> None:
    with root(odd.server) as connection, connection.cursor(pymysql.cursors.DictCursor) as cursor:
        status = "SHOW BINARY LOG STATUS" if odd.flavour == "mysql" else "SHOW MASTER STATUS"
        cursor.execute(status)
        before = cursor.fetchone()
        odd.found(**SIGNALS)
        cursor.execute(status)
        assert cursor.fetchone() == before


def test_rows_whose_values_do_not_fit_are_counted_before_one_is_read(odd: Odd) -> None:
    with root(odd.server) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = 'ALLOW_INVALID_DATES'")
        cursor.execute(
            "ALTER TABLE {table} ADD `a``b` date, ADD seen timestamp NULL, ADD due datetime(3), ADD said text"
            " CHARACTER SET utf8mb4".format_map(NAMES)
        )
        rows = [
            ("2026-01-01", "2026-01-01", "2024-02-29", b"gr\xc3\xbc\xc3\x9fe \xf0\x9f\x98\x80"),
            ("0000-00-00", "2026-01-01", "2026-02-31", b"a"),
            ("2026-00-01", "0000-00-00", "2026-01-00", b""),
            (None, None, None, None),
        ]
        for nth, row in enumerate(rows):
            cursor.execute("INSERT INTO {table} VALUES (%s,1,1,%s,%s,%s,%s)".format_map(NAMES), (nth, *row))
        mariadb = odd.flavour == "mariadb"
        if mariadb:  # MySQL takes no half of a pair
            cursor.execute("INSERT INTO {table} (id, said) VALUES (9, x'61EDA080')".format_map(NAMES))
    [one] = odd.found()
    assert one.id == "mysql.values_unfit"
    assert ("3 of the first 5 rows" if mariadb else "2 of the first 4 rows") in one.description
    assert one.description.endswith("in a`b, seen, due, said" if mariadb else "in a`b, seen, due")
    assert odd.ids(**{"value.unfit": "letter"}) == set()
    [one] = odd.found(**{"column.unfit.null": r".*\.(seen|said)", "column.as.text": r".*\.due"})
    assert one.description.endswith("in a`b")


def test_a_hint_names_the_other_dates_of_a_table_too(odd: Odd) -> None:
    odd.run("SET sql_mode = ''", "ALTER TABLE {table} ADD one date, ADD other date")
    with root(odd.server) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute("INSERT INTO {table} VALUES (1, 1, 1, '0000-00-00', NULL)".format_map(NAMES))
    [finding] = odd.found()
    letters = finding.suggestion.partition("column.unfit.letter = '")[2].partition("' to set ")[0]
    assert [name.rpartition(".")[2] for name in letters.split(",")] == ["one", "other"]
