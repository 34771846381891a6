"""What can be set about an Iceberg target.

In: nothing.  Out: the declarations.  What only one catalogue understands is passed on as it is, under
`target.catalog.`; such a value may be a password or a token, so none of them is ever shown.
"""

import re

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.settings.passthrough import (
    ADDRESS,
    COUNT,
    CREDENTIAL,
    FLAG,
    NO_VARIABLE,
    PLAIN,
    by_list,
    words,
)
from wrackline.schemas.settings.setting import Declared, Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, Value, between, matching, not_empty, one_of

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "Iceberg"
PROPERTY = "target.catalog.<property>"
CATALOGUES = ("hadoop", "rest", "hive", "glue")
OF_OUR_OWN = ("type", "uri")  # below target.catalog., declared by themselves

PROPERTY_REFUSED = define(
    "iceberg.property_refused",
    Definite,
    "{name} can't be set: {why}",
    hint="remove the line",
)

_FROM_ELSEWHERE = {
    **dict.fromkeys(
        (
            "credential",
            "s3.access-key-id",
            "s3.secret-access-key",
            "s3.session-token",
            "s3.sse.key",
            "token",
        ),
        CREDENTIAL,
    ),
    **dict.fromkeys(("glue.endpoint", "oauth2-server-uri", "s3.endpoint"), ADDRESS),
    **dict.fromkeys(
        (
            "glue.skip-archive",
            "rest.sigv4-enabled",
            "s3.path-style-access",
            "s3.remote-signing-enabled",
            "token-refresh-enabled",
        ),
        FLAG,
    ),
    **dict.fromkeys(
        (
            "audience",
            "client.region",
            "glue.id",
            "header.X-Iceberg-Access-Delegation",
            "prefix",
            "resource",
            "rest.signing-name",
            "rest.signing-region",
            "scope",
        ),
        PLAIN,
    ),
    "clients": COUNT,
    "rest.auth.type": words("basic", "none", "oauth2", "sigv4"),
    "rest.auth.basic.username": PLAIN,
    "rest.auth.basic.password": CREDENTIAL,
    "s3.sse.type": words("none", "s3", "kms", "dsse-kms", "custom"),
    "io-impl": words("org.apache.iceberg.aws.s3.S3FileIO", "org.apache.iceberg.hadoop.HadoopFileIO"),
}

_PART = r"(?:[^.{}]|\{database\}|\{schema\})+"
_HOUR_MS = 3_600_000


def _check_passed_on(name: str) -> None:
    """Refuse what would break what the merge relies on."""
    known = name.removeprefix(PROPERTY.partition("<")[0])
    if known.startswith("cache"):
        raise PROPERTY_REFUSED(name=name, why="a table kept in a cache is an old view of it")
    if known in {"warehouse", "catalog-impl"}:
        raise PROPERTY_REFUSED(name=name, why="target.warehouse and target.catalog.type say it")


def _namespace(value: Value) -> str | None:
    fits = re.fullmatch(rf"{_PART}(\.{_PART})*", str(value))
    return None if fits else "expected names joined by dots, in which {database} and {schema} may stand"


SETTINGS = Declared(
    settings=(
        Setting(
            "target.warehouse",
            SettingKind.STRING,
            "Where the tables lie: a folder, an address (s3://bucket/folder), or the name by which a REST "
            "catalogue knows it. Two pipelines may share it if no two of their tables have the same name.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=not_empty,
            judged=by_list({"target.warehouse": NO_VARIABLE}),
            located=True,
        ),
        Setting(
            "target.catalog.type",
            SettingKind.STRING,
            "Who keeps the list of tables. hadoop is a folder of this machine or of HDFS and needs no "
            "server; it is not safe on S3.",
            "hadoop",
            HIGH,
            GROUP,
            validator=one_of(*CATALOGUES),
            recommended=CATALOGUES,
        ),
        Setting(
            "target.catalog.uri",
            SettingKind.STRING,
            "The catalogue's address: http://host:8181 for rest, thrift://host:9083 for hive.",
            None,
            HIGH,
            GROUP,
            validator=matching(r"[a-z]+://\S+", "an address such as http://host:8181"),
            judged=by_list({"target.catalog.uri": NO_VARIABLE}),
            host=True,
        ),
        Setting(
            PROPERTY,
            SettingKind.PASSWORD,
            "Passed to Iceberg's catalogue as it is, and never shown: target.catalog.credential, "
            "target.catalog.s3.endpoint and the like.",
            None,
            MEDIUM,
            GROUP,
            named=_check_passed_on,
            host=True,
            judged=by_list({f"target.catalog.{name}": form for name, form in _FROM_ELSEWHERE.items()}),
        ),
        Setting(
            "target.format.version",
            SettingKind.INT,
            "Iceberg's format of new tables. Version 3 marks deleted rows by vectors; 2 is for readers that "
            "do not know them.",
            "3",
            MEDIUM,
            GROUP,
            validator=between(2, 3),
            recommended=("3", "2"),
        ),
        Setting(
            "target.namespace",
            SettingKind.STRING,
            "The namespace of a table: {database} and {schema} stand for its own, a dot begins a deeper one.",
            "{schema}",
            MEDIUM,
            GROUP,
            validator=_namespace,
        ),
        Setting(
            "target.snapshot.retention.ms",
            SettingKind.LONG,
            "How far behind the newest commit a reader may stay, so that what it reads is still there.",
            str(_HOUR_MS),
            LOW,
            GROUP,
            validator=between(10 * 60_000, 2**53),
        ),
    ),
    needs=(Requirement("target.catalog.type", "target.catalog.uri", when=("rest", "hive")),),
)
