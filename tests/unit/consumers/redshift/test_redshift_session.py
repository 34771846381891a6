"""What COPY is given, and what a driver's error means, without a server."""

import struct
from typing import Any

import pytest

from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.service import CarriedFiles, StageTable
from wrackline.consumers.targets.redshift.refusals import connection_error, statement_error
from wrackline.consumers.targets.redshift.session import CopyRole, RedshiftSession, copy_text
from wrackline.schemas.errors import OperatorNeeded, Transient

ARN = "arn:aws:iam::123456789012:role/copies"


def test_a_copy_names_a_role_and_a_manifest() -> None:
    found = copy_text('"a"."b"', "s3a://bucket/it's/files.manifest", CopyRole(ARN))
    source = f"FROM 's3://bucket/it''s/files.manifest' IAM_ROLE '{ARN}' FORMAT AS PARQUET MANIFEST"
    assert found == f'COPY "a"."b" {source}'
    assert (
        copy_text("t", "s3://b/k", CopyRole(None))
        == "COPY t FROM 's3://b/k' IAM_ROLE default FORMAT AS PARQUET MANIFEST"
    )


class ServerError(Exception):
    """As the driver raises it: its fields by letter."""


ServerError.__module__ = "redshift_connector.error"


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (ServerError({"C": "XX000", "M": "1023"}), "redshift.conflict", Transient),
        (ServerError({"C": "XX000", "M": "Spectrum Scan Error"}), "redshift.internal", Transient),
        (ServerError({"C": "40001", "M": "?"}), "redshift.conflict", Transient),
        (ServerError({"C": "57014", "M": "?"}), "redshift.short", Transient),
        (ServerError({"C": "54011", "M": "?"}), "redshift.refused", OperatorNeeded),  # too many columns
        (ServerError({"C": "42P01", "M": "?"}), "redshift.gone", Transient),  # somebody dropped the table
        (ServerError({"C": "42501", "M": "?"}), "redshift.no_right", OperatorNeeded),
        (ServerError({"C": "2BP01", "M": "?"}), "redshift.dependents", OperatorNeeded),
        (ServerError({"C": "22021", "M": "?"}), "target.character_refused", OperatorNeeded),
        (ServerError("connection is closed"), "redshift.connection_lost", Transient),
        (ConnectionResetError(), "redshift.connection_lost", Transient),
        (struct.error(), "redshift.connection_lost", Transient),
    ],
)
def test_an_error_says_who_acts(error: Exception, code: str, kind: type[Exception]) -> None:
    found = statement_error(error, "a merge", '"public"."orders"')
    assert isinstance(found, kind)
    assert found.code == code


def test_an_error_of_ours_stays_what_it_is() -> None:
    assert statement_error(KeyError("a"), "a merge", "a table") is None


def test_a_log_in_that_is_refused_names_no_password() -> None:
    where = {"host": "h", "user": "u", "database": "d"}
    refused = connection_error(ServerError({"C": "28000", "M": "secret"}), port=5439, **where)
    assert (refused.code, "secret" in str(refused)) == ("redshift.login_refused", False)
    assert (
        connection_error(ServerError("communication error"), port=5439, **where).code
        == "redshift.unreachable"
    )


class RefusedCopy:
    """A connection whose COPY fails, and a cursor of it."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def cursor(self) -> "RefusedCopy":
        return self

    def execute(self, text: str) -> None:
        self.texts.append(text)
        if text.startswith("COPY"):
            raise ServerError({"C": "XX000", "M": "Internal error"})

    def fetchall(self) -> list[Any]:
        return []


def test_what_another_session_of_its_number_could_not_load_is_not_asked_for() -> None:
    """The server gives the number of a session again, and keeps what COPY refused for a week."""
    connection = RefusedCopy()
    session = RedshiftSession(lambda: connection, CopyRole(None))
    stage = StageTable(StagedRelation("wl", "stage"), (StageColumn("k", Primitive.TEXT),))
    with pytest.raises(ServerError):
        session.load(stage, CarriedFiles(("s3a://b/k/files.manifest",), 1), "a name")
    (asked,) = (text for text in connection.texts if "sys_load_error_detail" in text)
    assert "AND start_time > GETDATE() - INTERVAL '61 seconds'" in asked
