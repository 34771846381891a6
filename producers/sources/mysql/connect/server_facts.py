"""What a server says about itself: which of the two it is, its identity, and the settings that matter to us.

    SHOW GLOBAL VARIABLES  ->  MySqlServerFacts

The statement needs no right.  A setting that only one of the two has is missing for the other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect.connect import variables

_ASKED = (
    "version",
    "server_id",
    "server_uuid",
    "server_uid",
    "lower_case_table_names",
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_row_event_max_size",
    "binlog_order_commits",
    "binlog_expire_logs_seconds",
    "expire_logs_days",
    "binlog_expire_logs_auto_purge",
    "max_binlog_total_size",
    "binlog_space_limit",
    "gtid_mode",
    "enforce_gtid_consistency",
    "gtid_strict_mode",
    "log_replica_updates",
    "log_slave_updates",
    "innodb_native_foreign_keys",
)
_STATUS_RENAMED = (8, 2)
_DAY_S = 86_400
_ON = frozenset({"on", "1", "yes"})


class Flavour(Enum):
    """Which of the two a server is; the value is its readable name."""

    MYSQL = "MySQL"
    MARIADB = "MariaDB"


@dataclass(frozen=True, slots=True)
class MySqlServerFacts:
    """A server's own words, by the names of its settings."""

    variables: Mapping[str, str]

    @property
    def flavour(self) -> Flavour:
        """Which of the two the server is."""
        return Flavour.MARIADB if "mariadb" in self.variables["version"].lower() else Flavour.MYSQL

    @property
    def number(self) -> tuple[int, ...]:
        """The version's numbers, without what follows them."""
        return tuple(map(int, re.findall(r"\d+", self.variables["version"].partition("-")[0])[:3]))

    @property
    def version(self) -> str:
        """The version's numbers as text."""
        return ".".join(map(str, self.number))

    @property
    def identity(self) -> str:
        """The unique name of this server: its uuid; in MariaDB its uid, if it has one, and its number.

        The uid is made from port and network address, which two containers may share.
        """
        numbered = f"{self.text('server_uid')} server_id {self.text('server_id')}"
        return self.text("server_uuid") or numbered.lstrip()

    @property
    def gtids(self) -> bool:
        """Whether every transaction of its log has a GTID."""
        return self.flavour is Flavour.MARIADB or self.variables.get("gtid_mode") == "ON"

    @property
    def cascades_logged(self) -> bool:
        """Whether rows that a foreign key changes are in the log: since MySQL 9.6, unless InnoDB does it."""
        return self.variables.get("innodb_native_foreign_keys") == "OFF"

    @property
    def lower_names(self) -> bool:
        """Whether names of databases and tables ignore case, and are in lower case in the log."""
        return self.count("lower_case_table_names") > 0

    @property
    def log_status(self) -> str:
        """The statement that shows where the log ends; it needs REPLICATION CLIENT."""
        renamed = self.flavour is Flavour.MYSQL and self.number >= _STATUS_RENAMED
        return "SHOW BINARY LOG STATUS" if renamed else "SHOW MASTER STATUS"

    @property
    def log_kept_s(self) -> int:
        """After how many seconds a file of the log is deleted; 0: its age does not matter."""
        if self.variables.get("binlog_expire_logs_auto_purge") == "OFF":
            return 0
        days = float(self.variables.get("expire_logs_days") or 0)  # the only setting before MariaDB 10.6
        return self.count("binlog_expire_logs_seconds") or int(days * _DAY_S)

    @property
    def log_limit(self) -> tuple[str, int] | None:
        """The setting that deletes the oldest files above a total size, and that size in bytes."""
        for setting in ("max_binlog_total_size", "binlog_space_limit"):  # the second is Percona's name
            if size := self.count(setting):
                return setting, size
        return None

    def text(self, name: str) -> str:
        """Return a setting; empty where the server does not have it."""
        return self.variables.get(name, "")

    def count(self, name: str) -> int:
        """Return a setting that is a number; 0 where the server does not have it."""
        return int(float(self.variables.get(name) or 0))

    def on(self, name: str) -> bool:
        """Whether a setting exists and is on."""
        return self.text(name).lower() in _ON


def facts_of(connection: "Connection[Any]") -> MySqlServerFacts:
    """Ask the server."""
    return MySqlServerFacts(variables(connection, *_ASKED))
