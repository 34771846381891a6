"""Error numbers and who must act on them, where no real server is made to send them."""

import pytest

from wrackline.producers.sources.mysql.connect.login_refusals import LoginAttempt, refusal
from wrackline.producers.sources.mysql.connect.server_errors import explain
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import TableId

ASKED = LoginAttempt("db", "3306", "o'neil")
SECRETIVE = "Duplicate entry 'Anna' for key"


@pytest.mark.parametrize(
    ("number", "code", "kind"),
    [
        (1040, "mysql.connections_full", Transient),
        (1203, "mysql.connections_full", Transient),
        (1129, "mysql.login_refused", OperatorNeeded),
        (1130, "mysql.login_refused", OperatorNeeded),
        (1251, "mysql.login_refused", OperatorNeeded),
        (1698, "mysql.login_refused", OperatorNeeded),
        (2059, "mysql.login_refused", OperatorNeeded),
        (2026, "mysql.tls_refused", OperatorNeeded),
        (3159, "mysql.tls_refused", OperatorNeeded),
        (2003, "mysql.unreachable", Transient),
        (2013, "mysql.unreachable", Transient),
        (9999, "mysql.unreachable", Transient),
    ],
)
def test_a_refused_connection(number: int, code: str, kind: type[WracklineError]) -> None:
    error = refusal(number, "why", ASKED)
    assert (error.code, type(error)) == (code, kind)
    assert "{" not in f"{error.sentence}{error.hint}"


def test_names_are_quoted_in_what_is_to_be_run() -> None:
    assert "ALTER USER 'o''neil'@'%' IDENTIFIED BY" in refusal(1045, "why", ASKED).hint
    assert refusal(2003, "why", ASKED).hint.endswith("mysql -h db -P 3306 -u 'o'\"'\"'neil' -p")


@pytest.mark.parametrize(
    ("number", "code", "kind", "shown"),
    [
        (1227, "mysql.right_missing", OperatorNeeded, True),
        (1146, "mysql.object_missing", OperatorNeeded, True),
        (1836, "mysql.only_reads", OperatorNeeded, False),
        (1969, "mysql.statement_ended", OperatorNeeded, False),
        (3024, "mysql.statement_ended", OperatorNeeded, False),
        (1292, "mysql.value_refused", OperatorNeeded, False),
        (1064, "mysql.statement_refused", OperatorNeeded, False),
        (1213, "mysql.server_lost", Transient, False),
        (2006, "mysql.server_lost", Transient, True),
        (1062, "mysql.server_lost", Transient, False),
        (1820, "mysql.password_expired", OperatorNeeded, False),
    ],
)
def test_a_refused_statement(number: int, code: str, kind: type[WracklineError], *, shown: bool) -> None:
    error = explain(number, SECRETIVE, "read the rows", "'guest'@'%'", TableId("shop", "shop", "orders"))
    assert (error.code, type(error)) == (code, kind)
    assert ("Anna" in str(error)) is shown
    assert "{" not in f"{error.sentence}{error.hint}"
