"""An error of Snowflake's driver says who acts, by its number or SQLSTATE, and shows none of its words."""

import pytest
from snowflake.connector import errors

from wrackline.consumers.targets.snowflake.refusals import connection_error, statement_error
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

SECRET = "Numeric value '4111111111111111' is not recognized"


def explained(error: Exception) -> WracklineError:
    found = statement_error(error, doing="the merge", place='"SHOP"."ORDERS"')
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("number", "state", "code", "kind"),
    [
        (100038, "22018", "snowflake.value_refused", OperatorNeeded),
        (100078, "22000", "snowflake.value_refused", OperatorNeeded),
        (100999, "22003", "snowflake.value_refused", OperatorNeeded),
        (2003, "42S02", "snowflake.gone", Transient),
        (2043, "02000", "snowflake.gone", Transient),
        (2002, "42710", "snowflake.there_already", Transient),
        (3001, "42501", "snowflake.no_right", OperatorNeeded),
        (606, "57P03", "snowflake.no_warehouse", OperatorNeeded),
        (90073, "22000", "snowflake.no_warehouse", OperatorNeeded),
        (625, "57014", "snowflake.busy", Transient),
        (604, "57014", "snowflake.slow", Transient),
        (630, "57014", "snowflake.slow", Transient),
        (390114, "08001", "snowflake.connection_lost", Transient),
        (253003, None, "snowflake.connection_lost", Transient),
        (1003, "42000", "snowflake.refused", OperatorNeeded),
        (100090, "42P18", "snowflake.refused", OperatorNeeded),
    ],
)
def test_a_number_decides(number: int, state: str | None, code: str, kind: type[WracklineError]) -> None:
    found = explained(errors.ProgrammingError(SECRET, errno=number, sqlstate=state))
    assert (found.code, type(found)) == (code, kind)
    assert "4111" not in str(found)
    assert "{" not in str(found)


def test_what_says_nothing_is_refused_by_its_number() -> None:
    found = explained(errors.ProgrammingError(SECRET, errno=123456))
    assert found.code == "snowflake.refused"
    assert "123456" in str(found)


@pytest.mark.parametrize(
    "error",
    [
        errors.ServiceUnavailableError(),
        errors.InterfaceError(SECRET, errno=290404),
        errors.OperationalError(SECRET, errno=254007),
        errors.OperationalError(SECRET, errno=290503, sqlstate="42000"),
        errors.ProgrammingError(SECRET),
    ],
)
def test_what_lies_below_the_server_is_a_lost_connection(error: Exception) -> None:
    found = explained(error)
    assert (found.code, type(found)) == ("snowflake.connection_lost", Transient)
    assert "4111" not in str(found)


def test_another_error_is_not_the_driver_s() -> None:
    assert statement_error(ValueError(SECRET), doing="the merge", place="p") is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.DatabaseError("JWT token is invalid", errno=390144), "snowflake.login_refused"),
        (errors.DatabaseError("Incorrect username", errno=390100), "snowflake.login_refused"),
        (errors.OperationalError("no route", errno=250001), "snowflake.unreachable"),
        (errors.InterfaceError("404", errno=290404), "snowflake.unreachable"),
    ],
)
def test_a_log_in_is_refused_by_the_server_or_does_not_get_there(error: errors.Error, code: str) -> None:
    found = connection_error(error, host="a.snowflakecomputing.com", user="W")
    assert found.code == code
    assert str(error.errno) in str(found)
