"""The four drivers, unchanged, behind the few words in which their interfaces differ."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from bench.peers.tds_replay import driver_lack
from tests.integration.sqlserver_standin.serving import DATABASE, PASSWORD, USER

RUST = "tests.integration.sqlserver_standin.rust_client"
_PARTS = {RUST: "mssql_py_core"}  # what a module of ours stands for


@dataclass(frozen=True, slots=True)
class SqlDriver:
    """A driver."""

    name: str
    module: str
    open: Callable[[Any, int, str, str, Mapping[str, Any]], Any]
    marker: str
    """How a parameter is written in a statement."""
    cancel: Callable[[Any, Any], None]
    """Cancels what a cursor of a connection is reading."""
    transactions: Callable[[Any], None]
    """Switches autocommit off."""

    def connect(self, port: int, user: str = USER, password: str = PASSWORD, **more: Any) -> Any:
        """Connect; a driver that this machine can't have skips the test."""
        if lack := driver_lack(_PARTS.get(self.module, self.module)):
            pytest.skip(f"{self.name} can't connect: {lack}")
        return self.open(importlib.import_module(self.module), port, user, password, more)


def _python_tds(module: Any, port: int, user: str, password: str, more: Mapping[str, Any]) -> Any:
    return module.connect(
        "localhost", DATABASE, user, password, port=port, autocommit=True, login_timeout=60, **more
    )


def _pymssql(module: Any, port: int, user: str, password: str, more: Mapping[str, Any]) -> Any:
    given = {"encryption": "off", **more}
    return module.connect(
        server="127.0.0.1",
        port=str(port),
        user=user,
        password=password,
        database=DATABASE,
        tds_version="7.4",
        **given,
    )


def _mssql_python(module: Any, port: int, user: str, password: str, more: Mapping[str, Any]) -> Any:
    return module.connect(_words(port, user, password, more))


def _mssql_tds(module: Any, port: int, user: str, password: str, more: Mapping[str, Any]) -> Any:
    return module.RustConnection(_words(port, user, password, more))


def _words(port: int, user: str, password: str, more: Mapping[str, Any]) -> str:
    words = {"Encrypt": "no", **more}
    text = f"Server=localhost,{port};Database={DATABASE};UID={user};PWD={{{password}}};"
    return text + "".join(f"{name}={value};" for name, value in words.items())


def _sql_cancel(_connection: Any, cursor: Any) -> None:
    cursor.cancel()


def _dblib_cancel(connection: Any, _cursor: Any) -> None:
    connection._conn.cancel()


def _odbc_cancel(_connection: Any, cursor: Any) -> None:
    cursor.close()  # it has no word for it: what is not yet read is cancelled


def _switch_tds(connection: Any) -> None:
    connection.autocommit = False


def _switch_dblib(connection: Any) -> None:
    connection.autocommit(False)


def _begin_rust(connection: Any) -> None:
    connection.begin()


DRIVERS = (
    SqlDriver("python-tds", "pytds", _python_tds, "%s", _sql_cancel, _switch_tds),
    SqlDriver("pymssql", "pymssql", _pymssql, "%s", _dblib_cancel, _switch_dblib),
    SqlDriver("mssql-python", "mssql_python", _mssql_python, "?", _odbc_cancel, _switch_tds),
    SqlDriver("mssql-tds", RUST, _mssql_tds, "?", _odbc_cancel, _begin_rust),
)
