"""Findings about servers that nobody starts here: old ones, ones without a log, other versions."""

import pytest

from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.sources.mysql.check import check_server
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts

GOOD_MYSQL = {
    "version": "9.7.4-2",
    "server_id": "1",
    "server_uuid": "1aebebe2-e6aa-11f1-9bf5-02fc00000001",
    "lower_case_table_names": "0",
    "log_bin": "ON",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "binlog_expire_logs_seconds": "2592000",
    "binlog_expire_logs_auto_purge": "ON",
    "gtid_mode": "ON",
    "enforce_gtid_consistency": "ON",
    "innodb_native_foreign_keys": "OFF",
}
GOOD_MARIADB = {
    "version": "11.4.5-MariaDB-log",
    "server_id": "1",
    "server_uid": "2iZLCY/nToj3kcUHrJn+5eccXSI=",
    "log_bin": "ON",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "binlog_expire_logs_seconds": "0",
    "max_binlog_total_size": "0",
    "gtid_strict_mode": "ON",
}


def ids(good: dict[str, str], **other: str) -> list[str]:
    facts = MySqlServerFacts(good | other)
    found = [*check_server.version(facts), *check_server.log(facts), *check_server.gtids(facts)]
    return [one.id for one in [*found, *check_server.marks(facts, MarkKind.FENCE)]]


@pytest.mark.parametrize("good", [GOOD_MYSQL, GOOD_MARIADB])
def test_a_good_server_has_none(good: dict[str, str]) -> None:
    assert ids(good) == []


@pytest.mark.parametrize(
    ("good", "other", "expected"),
    [
        (GOOD_MYSQL, {"version": "5.7.44-log"}, ["mysql.version_old"]),
        (GOOD_MYSQL, {"version": "8.0.40"}, ["mysql.version_untried"]),
        (GOOD_MYSQL, {"version": "8.4.3"}, ["mysql.version_untried"]),
        (GOOD_MARIADB, {"version": "10.4.34-MariaDB"}, ["mysql.version_old"]),
        (GOOD_MARIADB, {"version": "10.11.19-MariaDB-deb12"}, []),
        (GOOD_MARIADB, {"version": "10.10.7-MariaDB"}, ["mysql.version_untried"]),
        (GOOD_MARIADB, {"version": "11.8.9-MariaDB"}, ["mysql.version_untried"]),
        (GOOD_MARIADB, {"log_bin": "OFF", "binlog_format": "MIXED"}, ["mysql.binlog_off"]),
        (GOOD_MARIADB, {"binlog_format": "MIXED"}, ["mysql.binlog_format"]),
        (GOOD_MARIADB, {"binlog_row_metadata": "NO_LOG"}, ["mysql.binlog_row_metadata"]),
        (GOOD_MYSQL, {"binlog_row_image": "NOBLOB"}, ["mysql.binlog_row_image"]),
        (GOOD_MYSQL, {"binlog_expire_logs_seconds": "86399"}, ["mysql.retention_short"]),
        (GOOD_MYSQL, {"binlog_expire_logs_seconds": "86400"}, []),
        (GOOD_MYSQL, {"binlog_expire_logs_seconds": "60", "binlog_expire_logs_auto_purge": "OFF"}, []),
        (GOOD_MYSQL, {"enforce_gtid_consistency": "WARN"}, ["mysql.gtids_off"]),
        (GOOD_MYSQL, {"binlog_space_limit": "4096"}, ["mysql.log_size_limit"]),
    ],
)
def test_what_is_found(good: dict[str, str], other: dict[str, str], expected: list[str]) -> None:
    assert ids(good, **other) == expected


@pytest.mark.parametrize(
    ("shown", "named"),
    [
        ({"Binlog_Do_DB": "", "Binlog_Ignore_DB": ""}, []),
        (
            {"Binlog_Do_DB": "shop, more", "Binlog_Ignore_DB": ""},
            ["binlog_do_db keeps changes of the captured database stock out of the log"],
        ),
        (
            {"Binlog_Do_DB": None, "Binlog_Ignore_DB": "shop,else"},
            ["binlog_ignore_db keeps changes of the captured database shop out of the log"],
        ),
    ],
)
def test_a_database_that_is_left_out_is_named_with_its_option(
    shown: dict[str, str | None], named: list[str]
) -> None:
    found = list(check_server.unlogged_findings([shown], ["stock", "shop", "shop"]))
    assert [one.description for one in found] == named


def test_a_server_s_identity_and_flavour() -> None:
    mysql, mariadb = MySqlServerFacts(GOOD_MYSQL), MySqlServerFacts(GOOD_MARIADB)
    assert (mysql.flavour, mariadb.flavour) == (Flavour.MYSQL, Flavour.MARIADB)
    assert mysql.identity == GOOD_MYSQL["server_uuid"]
    assert mariadb.identity == f"{GOOD_MARIADB['server_uid']} server_id 1"
    assert mariadb.identity != MySqlServerFacts(GOOD_MARIADB | {"server_id": "2"}).identity
    assert MySqlServerFacts({"version": "10.5.1-MariaDB", "server_id": "7"}).identity == "server_id 7"
    assert mysql.cascades_logged
    assert not mariadb.cascades_logged
    assert not MySqlServerFacts(GOOD_MYSQL | {"innodb_native_foreign_keys": "ON"}).cascades_logged


def test_where_the_log_ends_is_asked_as_each_version_knows_it() -> None:
    old = MySqlServerFacts(GOOD_MYSQL | {"version": "8.0.40"})
    assert old.log_status == MySqlServerFacts(GOOD_MARIADB).log_status == "SHOW MASTER STATUS"
    assert MySqlServerFacts(GOOD_MYSQL).log_status == "SHOW BINARY LOG STATUS"
