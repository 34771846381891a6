"""From settings to what the driver, the store and Spark are given, without any of them."""

import traceback
from typing import Any

import pytest
import redshift_connector
from botocore.exceptions import ClientError, NoCredentialsError  # type: ignore[import-untyped]
from redshift_connector.error import InterfaceError, ProgrammingError

from tests.fakes.redshift_settings import checked, values
from wrackline.consumers.targets.redshift import PLUGIN
from wrackline.consumers.targets.redshift.config import SMALL, Endpoint, read_endpoint
from wrackline.consumers.targets.redshift.connect import read_cluster
from wrackline.consumers.targets.redshift.store import open_store
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.redaction import Secret
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.versions import HADOOP_AWS

WORKGROUP = "loads.123456789012.eu-west-1.redshift-serverless.amazonaws.com"
SECRET = "hush-hush-7"


class Connected:
    """A driver's connection that says what it was sent."""

    def __init__(self, **given: Any) -> None:
        self.given, self.sent = given, list[str]()
        self.autocommit = False

    def cursor(self) -> "Connected":
        return self

    def execute(self, text: str) -> None:
        self.sent.append(text)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redshift_connector, "connect", Connected)


@pytest.mark.usefixtures("driver")
def test_a_password_is_revealed_to_the_driver_alone() -> None:
    cluster = read_cluster(values(password=SECRET))
    assert SECRET not in repr(cluster)
    made = cluster.connect()
    given = made.given
    assert (given["user"], given["password"], given["database"]) == ("wrackline", SECRET, "dev")
    assert (given["host"], given["port"]) == ("shop.abc123.eu-west-1.redshift.amazonaws.com", 5439)
    assert (given["ssl"], given["sslmode"]) == (True, "verify-full")
    assert "iam" not in given
    assert made.autocommit, "a statement is committed by itself"
    assert "SET timezone TO 'UTC'" in made.sent
    assert "SET query_group TO 'wrackline shop'" in made.sent
    assert "SET error_on_nondeterministic_update TO on" in made.sent
    assert "SET statement_timeout TO 3600000" in made.sent
    assert given["timeout"] > 3600, "the socket waits longer than the server works"


@pytest.mark.usefixtures("driver")
def test_aws_gives_a_password_for_a_cluster_and_for_a_workgroup() -> None:
    cluster = read_cluster(values(login="iam")).connect().given
    assert (cluster["iam"], cluster["db_user"], cluster["cluster_identifier"]) == (True, "wrackline", "shop")
    assert not {"user", "password"} & set(cluster)
    workgroup = read_cluster(values(login="iam", hostname=WORKGROUP)).connect().given
    assert "cluster_identifier" not in workgroup, "the driver reads it from the host"


def test_a_login_without_tls_is_no_login_by_aws() -> None:
    assert read_cluster(values(sslmode="disable")).fields["ssl"] is False
    (problem,) = checked(login="iam", sslmode="disable").problems
    assert problem.error.code.startswith("settings.")


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": SECRET}}, "x"),
            OperatorNeeded,
            "iam_refused",
        ),
        (InterfaceError(NoCredentialsError()), OperatorNeeded, "iam_refused"),
        (InterfaceError("communication error", OSError(SECRET)), Transient, "unreachable"),
        (ProgrammingError({"C": "28000", "M": SECRET}), OperatorNeeded, "login_refused"),
    ],
)
def test_what_prevents_a_connection_is_said_without_a_secret(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception], code: str
) -> None:
    def refuses(**given: Any) -> None:
        del given
        raise error

    monkeypatch.setattr(redshift_connector, "connect", refuses)
    with pytest.raises(kind, match=rf"redshift\.{code}") as found:
        read_cluster(values(password=SECRET, **({"login": "iam"} if "iam" in code else {}))).connect()
    assert SECRET not in "".join(traceback.format_exception(found.value))


def test_spark_is_given_the_file_system_only_if_executors_elsewhere_write() -> None:
    for master in (values(), values(writer="driver").replaced({"spark.master": "spark://host:7077"})):
        assert PLUGIN.needs(master).jars == ()
    for elsewhere in ({"spark.master": "spark://host:7077"}, {"spark.remote": Secret("sc://host")}):
        assert PLUGIN.needs(values().replaced(elsewhere)).jars == (HADOOP_AWS,)
    needs = PLUGIN.needs(values(writer="spark", **{"storage.fs.s3a.secret.key": SECRET}))
    assert needs.jars == (HADOOP_AWS,)
    assert needs.conf["spark.hadoop.fs.s3a.secret.key"] == SECRET
    assert str(SMALL) in next(one.doc for one in PLUGIN.settings.settings if one.name == "target.writer")


def test_the_store_s_client_is_given_the_same_names() -> None:
    store = open_store(
        values(
            **{
                "storage.fs.s3a.endpoint": "s3.example.com",
                "storage.fs.s3a.endpoint.region": "eu-west-1",
                "storage.fs.s3a.encryption.algorithm": "SSE-KMS",
                "storage.fs.s3a.encryption.key": "arn:aws:kms:eu-west-1:1:key/k",
                "storage.fs.s3a.access.key": "a",
                "storage.fs.s3a.secret.key": SECRET,
            }
        )
    )
    assert (store.bucket, store.folder) == ("shop-stage", "batches/shop")
    assert store.client.meta.endpoint_url == "https://s3.example.com"
    assert store.client.meta.region_name == "eu-west-1"
    assert store.written_with == {
        "ServerSideEncryption": "aws:kms",
        "SSEKMSKeyId": "arn:aws:kms:eu-west-1:1:key/k",
    }
    assert SECRET not in repr(store)
    store.client.close()


def test_an_endpoint_is_taken_apart() -> None:
    assert read_endpoint(WORKGROUP) == Endpoint("loads", "eu-west-1", serverless=True)
    china = "shop.abc.cn-north-1.redshift.amazonaws.com.cn"
    assert read_endpoint(china) == Endpoint("shop", "cn-north-1", serverless=False)
    assert read_endpoint("redshift.example.com") is None


def test_lineage_names_the_view_as_others_do() -> None:
    assert PLUGIN.located(values(), TableId("db", "public", "Orders")) == (
        "redshift://shop.eu-west-1:5439",
        "dev.public.orders",
    )
    assert PLUGIN.located(values(hostname="h.example.com"), TableId("db", "s", "t")).namespace == (
        "redshift://h.example.com:5439"
    )


@pytest.mark.parametrize(
    "given",
    [
        {"stage": "gs://bucket/x"},
        {"stage": "s3://B"},
        {"iam.role": "arn:aws:iam::1:role/x' CREDENTIALS 'a"},
        {"writer": "nobody"},
        {"hostname": "h:5439"},
        {"storage.schema": "é" * 64},
        {"lock.timeout.ms": "1000"},
    ],
)
def test_what_cannot_be_obeyed_is_refused(given: dict[str, str]) -> None:
    assert [problem.error.code for problem in checked(**given).problems] != []


def test_a_role_may_assume_another() -> None:
    two = "arn:aws:iam::123456789012:role/a,arn:aws-cn:iam::123456789012:role/path/b"
    assert values(**{"iam.role": two}).text("target.iam.role") == two
