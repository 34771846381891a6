"""What the driver's errors mean to us; they are python-oracledb's own, made by its own code."""

import ssl
from typing import Any

import pytest

from wrackline.producers.sources.oracle.connect.server_errors import explain
from wrackline.producers.sources.oracle.resolver import SIGNALS_UNREAD
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

oracledb = pytest.importorskip("oracledb")
errors = pytest.importorskip("oracledb.errors")

HELP = "\nHelp: https://docs.oracle.com/error-help/db/ora-00942/"


def of_server(number: int, words: str) -> Exception:
    """Make an error as the driver does of what the server sends."""
    made = errors._Error(f"ORA-{number:05d}: {words}", code=number)
    raised: Exception = made.exc_type(made)
    return raised


def of_driver(number: int, cause: Exception | None = None, **names: Any) -> Exception:
    made: Exception = errors._create_exception(number, cause=cause, **names)
    return made


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (54, "rows_locked"),
        (60, "rows_locked"),
        (257, "space_short"),
        (310, "logs_changed"),
        (334, "logs_changed"),
        (904, "column_missing"),
        (933, "statement_refused"),
        (942, "object_missing"),
        (1005, "login_refused"),
        (1013, "call_ended"),
        (1017, "login_refused"),
        (1031, "right_missing"),
        (1033, "database_unready"),
        (1034, "database_unready"),
        (1045, "login_refused"),
        (1089, "database_unready"),
        (1090, "database_unready"),
        (1219, "database_unready"),
        (1289, "logs_changed"),
        (1291, "logs_changed"),
        (1292, "logs_changed"),
        (1304, "logs_changed"),
        (1306, "logs_changed"),
        (1307, "logs_changed"),
        (1325, "logging_missing"),
        (1368, "logs_changed"),
        (1371, "logs_changed"),
        (1466, "rows_gone"),
        (1555, "rows_gone"),
        (1722, "value_refused"),
        (1950, "right_missing"),
        (3049, "statement_refused"),
        (3113, "server_lost"),
        (3114, "server_lost"),
        (4036, "memory_short"),
        (8176, "rows_gone"),
        (8181, "rows_gone"),
        (12505, "service_unknown"),
        (12514, "service_unknown"),
        (12519, "sessions_spent"),
        (12537, "server_lost"),
        (12541, "unreachable"),
        (12660, "encryption_differs"),
        (16000, "only_reads"),
        (28000, "login_refused"),
        (28001, "login_refused"),
        (65011, "container_wrong"),
        (65040, "container_wrong"),
        (600, "server_lost"),
    ],
)
def test_an_error_of_the_server_says_who_acts(number: int, code: str) -> None:
    found = explain(of_server(number, "some words"), "mine the log")
    assert found.code == f"oracle.{code}"
    assert isinstance(found, Transient | OperatorNeeded)


def test_the_words_of_an_error_that_can_quote_a_value_are_not_shown() -> None:
    found = explain(of_server(1722, "unable to convert string value containing 'geheim' to a number"), "read")
    assert "geheim" not in str(found)
    assert "ORA-01722" in found.sentence
    assert "geheim" not in str(explain(of_server(1, "unique constraint, row with value geheim"), "write"))


def test_the_words_of_an_error_that_names_objects_are_shown_in_one_line() -> None:
    found = explain(of_server(942, 'table or view "SHOP"."ORDERS" does not exist'), "read a chunk")
    assert '"SHOP"."ORDERS" does not exist' in found.sentence
    assert "Help" not in found.sentence
    package = "line 1, column 7:\nPLS-00201: identifier 'SYS.DBMS_LOGMNR' must be declared"
    assert "'SYS.DBMS_LOGMNR' must be declared" in explain(of_server(6550, package), "mine").sentence


def test_what_failed_inside_of_the_server_counts_by_itself() -> None:
    nested = of_server(604, "error occurred at recursive SQL level 1\nORA-01555: snapshot too old")
    assert explain(nested, "read").code == "oracle.rows_gone"
    assert explain(of_server(604, "error occurred at recursive SQL level 1"), "read").code == (
        "oracle.server_lost"
    )


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (of_driver(errors.ERR_CONNECTION_CLOSED), "server_lost", "DPY-4011"),
        (of_driver(errors.ERR_CALL_TIMEOUT_EXCEEDED, timeout=5), "call_ended", "DPY-4024"),
        (of_driver(errors.ERR_NO_CREDENTIALS), "login_refused", "no credentials"),
        (of_driver(errors.ERR_WRONG_EXECUTE_PARAMETERS_TYPE), "statement_refused", "DPY-2003"),
        (
            of_driver(errors.ERR_FEATURE_NOT_SUPPORTED, feature="Native Network", driver_type="thick"),
            "encryption_differs",
            "thick mode",
        ),
        (of_driver(errors.ERR_UNSUPPORTED_VERIFIER_TYPE, verifier_type=2361), "client_unfit", "0x939"),
        (
            of_driver(errors.ERR_WALLET_FILE_MISSING, name="/w/ewallet.pem"),
            "certificate_refused",
            "/w/ewallet",
        ),
        (of_driver(errors.ERR_INVALID_SERVER_NAME, expected_name="db"), "certificate_refused", "db"),
    ],
)
def test_an_error_of_the_driver_says_who_acts(error: Exception, code: str, words: str) -> None:
    found = explain(error, "log in")
    assert found.code == f"oracle.{code}"
    assert words in found.sentence


def unconnected(cause: Exception) -> WracklineError:
    return explain(of_driver(errors.ERR_CONNECTION_FAILED, cause, connection_id="x"), "log in")


def test_why_there_is_no_connection_is_said_by_the_cause() -> None:
    refused = unconnected(ConnectionRefusedError(111, "Connection refused"))
    assert (refused.code, isinstance(refused, Transient)) == ("oracle.unreachable", True)
    assert "Connection refused" in refused.sentence
    assert unconnected(TimeoutError("timed out")).code == "oracle.unreachable"
    unknown = of_driver(errors.ERR_INVALID_SERVICE_NAME, service_name="ORCL", host="db", port=1521)
    assert unconnected(unknown).code == "oracle.service_unknown"
    assert '"ORCL"' in unconnected(unknown).sentence
    full = of_driver(errors.ERR_LISTENER_REFUSED_CONNECTION, error_code="12519")
    assert unconnected(full).code == "oracle.sessions_spent"


def test_a_certificate_that_is_not_trusted_needs_an_operator() -> None:
    bad = ssl.SSLCertVerificationError(1, "certificate verify failed")
    bad.verify_message = "self-signed certificate"
    found = unconnected(bad)
    assert found.code == "oracle.certificate_refused"
    assert "self-signed certificate" in found.sentence
    assert unconnected(ssl.SSLEOFError(8, "EOF occurred")).code == "oracle.unreachable"


def test_an_error_without_a_number_is_a_lost_connection() -> None:
    assert explain(RuntimeError("geheim"), "log in").code == "oracle.unreachable"
    assert "geheim" not in str(explain(RuntimeError("geheim"), "log in"))


def test_a_signal_table_that_is_made_again_gets_its_right_again() -> None:
    hint = SIGNALS_UNREAD(table=1, table_name='"A"."S"', reason="", count=1).hint
    made = ('DROP TABLE "A"."S" PURGE;', 'CREATE TABLE "A"."S" (', 'GRANT SELECT ON "A"."S" TO <user>;')
    assert sorted(map(hint.find, made)) == [hint.find(one) for one in made], "in this order"
    assert -1 not in map(hint.find, made)
