"""What can be set about a Delta target.

In: nothing.  Out: the declarations.  What the file system wants to know is passed on as it is, under
`target.storage.`; such a value may be a password or a token, so none of them is ever shown.
"""

import re

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
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, Value, between, not_empty

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "Delta"
PROPERTY = "target.storage.<property>"

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

_HOUR_MS = 3_600_000
_WEEK_MS = 7 * 24 * _HOUR_MS


def _namespace(value: Value) -> str | None:
    fits = re.fullmatch(r"(?:[^{}/]|\{database\}|\{schema\})+", str(value))
    return None if fits else "expected one folder's name, in which {database} and {schema} may stand"


SETTINGS = Declared(
    settings=(
        Setting(
            "target.warehouse",
            SettingKind.STRING,
            "Where the tables lie: a folder, or an address (s3a://bucket/folder). Two pipelines may share it "
            "if no two of their tables have the same name.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=not_empty,
            located=True,
        ),
        Setting(
            "target.namespace",
            SettingKind.STRING,
            "The folder of a table below the warehouse: {database} and {schema} stand for its own.",
            "{schema}",
            MEDIUM,
            GROUP,
            validator=_namespace,
        ),
        Setting(
            PROPERTY,
            SettingKind.PASSWORD,
            "Passed to Hadoop's file system as it is, and never shown: target.storage.fs.s3a.endpoint, "
            "target.storage.fs.s3a.secret.key and the like.",
            None,
            MEDIUM,
            GROUP,
            host=True,
            judged=by_list({f"target.storage.fs.s3a.{name}": form for name, form in _S3A.items()}),
        ),
        Setting(
            "target.snapshot.retention.ms",
            SettingKind.LONG,
            "How long the files and the log of older versions of a table stay, for readers that are behind "
            "and to set a table back.",
            str(_WEEK_MS),
            LOW,
            GROUP,
            validator=between(_HOUR_MS, 2**53),
        ),
    ),
)
