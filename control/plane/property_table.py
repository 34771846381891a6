"""Which property of CDAP's document is which setting of ours: the one table, read in both directions.  Pure.

In: nothing.  Out: `PROPERTIES`, by place in the document.  A property that is not in the table, or whose
value can't be written as a setting, is reported (`cdap.property_ignored`); a setting that can't be written
as a property stays a setting, in the object `settings`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from wrackline.schemas.settings.declared.target_settings import CHANGES

Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertyForm:
    """How a value is written on both sides; None: it can't be."""

    read: Callable[[Any], str | None]
    write: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Property:
    """A property that is a setting; `kinds` are the plug-ins that have it, none means any."""

    place: Place
    setting: str
    form: PropertyForm
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IgnoredReason:
    """Why a property that users may expect to work has no effect; `harmless`: nothing is lost by that."""

    why: str
    hint: str
    harmless: bool = False


def _text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _whole(value: object) -> int | None:
    text = _text(value)
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,12}", text) else None


def _flag(yes: str, no: str) -> PropertyForm:
    words = {"true": yes, "false": no}
    back = {yes: True, no: False}
    return PropertyForm(lambda value: words.get(str(value).lower()), back.get)


def _number(before: str, after: str, times: int = 1) -> PropertyForm:
    def read(value: object) -> str | None:
        number = _whole(value)
        return None if number is None else f"{before}{number * times}{after}"

    def write(text: str) -> int | None:
        number = _whole(text.removeprefix(before).removesuffix(after))
        if number is None or text != f"{before}{number}{after}" or number % times:
            return None
        return number // times

    return PropertyForm(read, write)


def _words(letters: Mapping[str, str]) -> PropertyForm:
    back = {letter: word for word, letter in letters.items()}

    def read(value: object) -> str | None:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            return None
        found = [letters.get(one.upper()) for one in value]
        return None if None in found else ",".join(str(one) for one in found)

    def write(text: str) -> list[str] | None:
        found = [back.get(one.strip()) for one in text.split(",")]
        return None if None in found else [str(one) for one in found]

    return PropertyForm(read, write)


def _one_of_list(text: str | None) -> str | None:
    return None if text is None or "," in text else text


TEXT: Final = PropertyForm(_text, lambda text: text)
_ONE: Final = PropertyForm(lambda value: _one_of_list(_text(value)), _one_of_list)
DML: Final = _words({"INSERT": "c", "UPDATE": "u", "DELETE": "d"})
DDL: Final = _words({word: word for word in CHANGES})
_SECONDS: Final = _number("", "", 1000)
_MYSQL: Final = ("mysql", "mariadb")
_POSTGRES: Final = ("postgres",)

DML_OF_TABLE: Final = "skipped.operations."
DDL_OF_TABLE: Final = "target.schema.change.exclude."
LABEL: Final = "label."
REMOTE: Final = "spark.remote"

PROPERTIES: Final[tuple[Property, ...]] = (
    Property(("name",), "name", TEXT),
    Property(("description",), "description", TEXT),
    Property(("source", "host"), "database.hostname", TEXT),
    Property(("source", "port"), "database.port", TEXT),
    Property(("source", "user"), "database.user", TEXT),
    Property(("source", "password"), "database.password", TEXT),
    Property(("source", "database"), "database.dbname", TEXT, ("postgres", "oracle")),
    Property(("source", "database"), "database.names", _ONE, ("sqlserver",)),
    Property(("source", "sslMode"), "database.sslmode", TEXT, _POSTGRES),
    Property(("source", "sslMode"), "database.ssl.mode", TEXT, (*_MYSQL, "oracle")),
    Property(("source", "replicateExistingData"), "snapshot.mode", _flag("initial", "no_data")),
    Property(("target", "host"), "target.hostname", TEXT, _POSTGRES),
    Property(("target", "port"), "target.port", TEXT, _POSTGRES),
    Property(("target", "user"), "target.user", TEXT, _POSTGRES),
    Property(("target", "password"), "target.password", TEXT, _POSTGRES),
    Property(("target", "database"), "target.dbname", TEXT, _POSTGRES),
    Property(("target", "sslMode"), "target.sslmode", TEXT, _POSTGRES),
    Property(("target", "loadInterval"), "consume.trigger.interval.ms", _SECONDS),
    Property(("target", "requireManualDrop"), "target.drop.behavior", _flag("keep", "drop")),
    Property(("target", "softDeletes"), "target.deletes", _flag("soft", "hard")),
    Property(("resources", "vcores"), "spark.master", _number("local[", "]")),
    Property(("resources", "memoryMB"), "spark.driver.memory", _number("", "m")),
    Property(("retries", "maxDurationSeconds"), "errors.retry.timeout", _SECONDS),
    Property(("retries", "delaySeconds"), "retriable.restart.connector.wait.ms", _SECONDS),
    Property(("parallelism", "numInstances"), "snapshot.max.threads", _number("", "")),
    Property(("dmlBlacklist",), "skipped.operations", DML),
    Property(("ddlBlacklist",), "target.schema.change.exclude", DDL),
)

_NOT_NEEDED: Final = IgnoredReason("Wrackline does not need it", "leave it out", harmless=True)
IGNORED: Final[Mapping[Place, IgnoredReason]] = {
    ("offsetBasePath",): IgnoredReason("positions are kept in Kafka", "leave it out", harmless=True),
    **dict.fromkeys((("source", "artifact"), ("target", "artifact")), _NOT_NEEDED),
    **dict.fromkeys((("source", "jdbcPluginName"), ("source", "jdbcPluginType")), _NOT_NEEDED),
    **dict.fromkeys((("target", f"stagingBucket{more}") for more in ("", "Location")), _NOT_NEEDED),
    ("source", "serverTimezone"): IgnoredReason(
        "moments are read in UTC, whatever the server's zone", "leave it out", harmless=True
    ),
    ("tables", "columns", "suppressWarning"): IgnoredReason(
        "a warning is confirmed by its id when the draft is deployed",
        'deploy it with {"accept": ["<id of the finding>"]}',
    ),
    ("tables", "columns", "type"): IgnoredReason(
        "the database's own type is used", "leave it out", harmless=True
    ),
}
UNKNOWN: Final = IgnoredReason(
    "it has no counterpart here", 'write a setting of Wrackline: "settings": {"<name>": "…"}'
)
