"""What can be set about a Redshift target, and what its endpoint says of itself."""

import re
from typing import Final, NamedTuple

from wrackline.consumers.contract.place_settings import place_settings, required_setting, storage_setting
from wrackline.consumers.targets.redshift.limits import NAME_BYTES
from wrackline.schemas.settings.setting import Declared, Importance, Requirement, Setting
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import SettingKind, between, matching, one_of

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "Redshift"
DEFAULT_ROLE: Final = "default"
BY_PASSWORD, BY_IAM = "password", "iam"
AUTO, BY_SPARK, BY_DRIVER = "auto", "spark", "driver"
SMALL: Final = 50_000  # records of a batch up to which the driver writes its file, where that is chosen

SETTINGS = Declared(
    settings=(
        Setting(
            "target.hostname",
            SettingKind.STRING,
            "The endpoint of the cluster or of the workgroup, without its port.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=matching(r"[A-Za-z0-9][A-Za-z0-9._-]*", "a host name, without a port"),
            host=True,
        ),
        Setting(
            "target.port", SettingKind.INT, "Its port.", "5439", HIGH, GROUP, validator=between(1, 65535)
        ),
        required_setting(
            GROUP,
            "target.dbname",
            "The database to write to.",
            matching(r"[^=\0]{1,127}", "a database's name, not a connection string"),
        ),
        required_setting(GROUP, "target.user", "The user to log in as; it makes schemas, tables and views."),
        Setting("target.password", SettingKind.PASSWORD, "Its password.", None, HIGH, GROUP),
        Setting(
            "target.login",
            SettingKind.STRING,
            "How to log in: password, or iam, with one that AWS gives for some minutes, because of who this"
            " machine is there.",
            BY_PASSWORD,
            MEDIUM,
            GROUP,
            validator=one_of(BY_PASSWORD, BY_IAM),
            recommended=(BY_PASSWORD, BY_IAM),
        ),
        Setting(
            "target.sslmode",
            SettingKind.STRING,
            "How the connection is protected; use less than verify-full only where you trust the network.",
            "verify-full",
            MEDIUM,
            GROUP,
            validator=one_of("disable", "verify-ca", "verify-full"),
            recommended=("verify-full", "verify-ca", "disable"),
        ),
        Setting(
            "target.stage",
            SettingKind.STRING,
            "Where a batch's files lie between Spark and Redshift: s3://bucket/folder, in Redshift's own"
            " region. Below it each pipeline has a folder of its own.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=matching(
                r"s3[an]?://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#\\]*)?", "s3://bucket/folder"
            ),
            located=True,
        ),
        Setting(
            "target.writer",
            SettingKind.STRING,
            "Who writes these files: driver, spark (its executors), or auto: executors where spark.master or"
            f" spark.remote names another machine and a batch has more than {SMALL} records, the driver"
            " elsewhere. Executors need Hadoop's file system for S3, which is a large download.",
            AUTO,
            MEDIUM,
            GROUP,
            validator=one_of(AUTO, BY_SPARK, BY_DRIVER),
            recommended=(AUTO, BY_SPARK, BY_DRIVER),
        ),
        storage_setting(GROUP),
        Setting(
            "target.iam.role",
            SettingKind.STRING,
            "The role with which COPY reads the files, by its ARN; default is the cluster's default role.",
            DEFAULT_ROLE,
            HIGH,
            GROUP,
            validator=matching(
                r"default|(arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+)(,arn:aws[a-z-]*:iam::[0-9]{12}:role/"
                r"[\w+=,.@/-]+)*",
                "default, or arn:aws:iam::<account>:role/<name>; several, if one assumes the next",
            ),
        ),
        *place_settings(GROUP, NAME_BYTES, locks=False),
        Setting(
            "target.statement.timeout.ms",
            SettingKind.INT,
            "How long one statement may run, with all the time that it waits for locks and in a queue.",
            "3600000",
            LOW,
            GROUP,
            validator=between(1000, 86_400_000),
        ),
    ),
    needs=(Requirement("target.login", "target.sslmode", (BY_IAM,), ("verify-ca", "verify-full")),),
)


def executors_write(settings: Values) -> bool:
    """Whether executors write some of a pipeline's batches; those of this machine gain nothing by it."""
    writer = settings.text("target.writer")
    if writer != AUTO:
        return writer == BY_SPARK
    spark = {places["rest"]: value for places, value in settings.family("spark.<rest>")}
    return spark.get("remote") is not None or not str(spark.get("master", "local")).startswith("local")


_ENDPOINT = re.compile(
    r"(?P<name>[^.]+)\.[^.]+\.(?P<region>[a-z0-9-]+)\.redshift(?P<serverless>-serverless)?\.amazonaws\.com(\.cn)?"
)


class Endpoint(NamedTuple):
    """The parts of an endpoint that AWS has made; a name of one's own says nothing."""

    name: str  # of the cluster or the workgroup
    region: str
    serverless: bool


def read_endpoint(host: str) -> Endpoint | None:
    """Take an endpoint apart."""
    found = _ENDPOINT.fullmatch(host)
    return None if found is None else Endpoint(found["name"], found["region"], bool(found["serverless"]))
