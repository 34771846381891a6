"""What can be set about where tables, views and files are, the same for several targets.

Services that people can't run themselves may also have an emulator in their place.
"""

from wrackline.consumers.contract.identifiers import template_fault
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.passthrough import (
    COUNT,
    CREDENTIAL,
    DURATION,
    FLAG,
    HOST,
    PLAIN,
    SIZE,
    by_list,
    words,
)
from wrackline.schemas.settings.setting import Importance, Setting
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    Validator,
    between,
    http_address,
    in_bytes,
    not_empty,
)

STORAGE_PROPERTY = "target.storage.<property>"
_S3A = {
    **dict.fromkeys(("access.key", "secret.key", "session.token", "encryption.key"), CREDENTIAL),
    **dict.fromkeys(("connection.ssl.enabled", "path.style.access"), FLAG),
    **dict.fromkeys(("attempts.maximum", "connection.maximum", "threads.max"), COUNT),
    **dict.fromkeys(("connection.establish.timeout", "connection.timeout"), DURATION),
    **dict.fromkeys(("block.size", "multipart.size"), SIZE),
    "endpoint": HOST,
    "endpoint.region": PLAIN,
    "encryption.algorithm": words("AES256", "SSE-KMS", "DSSE-KMS", "SSE-C"),
    "aws.credentials.provider": words(
        *(
            f"org.apache.hadoop.fs.s3a.{name}"
            for name in (
                "AnonymousAWSCredentialsProvider",
                "SimpleAWSCredentialsProvider",
                "TemporaryAWSCredentialsProvider",
            )
        )
    ),
}


def place_settings(group: str, most_bytes: int, *, locks: bool = True) -> tuple[Setting, ...]:
    """Declare them for the settings page's group; a name of the target has so many bytes at most.

    A target without locks, or without a limit for them alone, has no time to wait for one.
    """
    places = (
        Setting(
            "target.schema",
            SettingKind.STRING,
            "The schema in which readers find a table, as a view under its own name; {database} and {schema}"
            " stand for those of the source.",
            "{schema}",
            Importance.MEDIUM,
            group,
            validator=template_fault,
        ),
        Setting(
            "target.storage.schema",
            SettingKind.STRING,
            "The schema of the tables behind the views, which hold tombstones and our columns, and of what"
            " we keep about them.",
            "wrackline",
            Importance.LOW,
            group,
            validator=in_bytes(most_bytes, f"a name of 1 to {most_bytes} bytes"),
        ),
    )
    waits = (
        Setting(
            "target.lock.timeout.ms",
            SettingKind.INT,
            "How long a batch or a change of shape waits for somebody who holds its table.",
            "60000",
            Importance.LOW,
            group,
            validator=between(1, 3_600_000),
        ),
    )
    return (*places, *waits) if locks else places


def required_setting(group: str, name: str, says: str, validator: Validator = not_empty) -> Setting:
    """Declare a text that a target can't be reached without."""
    return Setting(
        name, SettingKind.STRING, says, None, Importance.HIGH, group, required=True, validator=validator
    )


def endpoint_setting(group: str) -> Setting:
    """Declare the address of an emulator, for the settings page's group."""
    return Setting(
        "target.endpoint",
        SettingKind.STRING,
        "The address of an emulator that answers in place of the service, for tests and the demo. Over http:"
        " the log-in and the rows are not encrypted.",
        None,
        Importance.LOW,
        group,
        validator=http_address("http://<host>:<port> or https://<host>:<port>"),
        host=True,
    )


def credentials_setting(group: str) -> Setting:
    """Declare the account that a service of Google's is used with."""
    return Setting(
        "target.credentials.file",
        SettingKind.STRING,
        "A file with the account's credentials: a service account's key, or the description of a workload"
        " identity; without it they are Google's default ones of this machine.",
        None,
        Importance.MEDIUM,
        group,
        validator=not_empty,
        file=True,
    )


def storage_setting(group: str) -> Setting:
    """Declare what Hadoop's file system wants to know; it may be a password, so none is ever shown."""
    return Setting(
        STORAGE_PROPERTY,
        SettingKind.PASSWORD,
        "Passed to Hadoop's file system as it is, and never shown: target.storage.fs.s3a.endpoint, "
        "target.storage.fs.s3a.secret.key and the like.",
        None,
        Importance.MEDIUM,
        group,
        host=True,
        judged=by_list({f"target.storage.fs.s3a.{name}": form for name, form in _S3A.items()}),
    )


def storage_values(settings: Values) -> dict[str, str]:
    """Return what is set about Hadoop's file system, by its own names; these are secrets."""
    return {
        named["property"]: value.reveal()
        for named, value in settings.family(STORAGE_PROPERTY)
        if isinstance(value, Secret)
    }


def storage_conf(settings: Values) -> dict[str, str]:
    """Return the same as the configuration of a Spark session."""
    return {f"spark.hadoop.{name}": value for name, value in storage_values(settings).items()}
