"""From a pipeline's file to the map of settings that REST takes too; from the map to a checked pipeline.

    name = "shop"                        # TOML; tables and dotted keys are joined by dots
    topic.prefix = "shop1"

    [source]                             # only groups: `source` is not part of a setting's name
    connector.class = "postgres"         # our kind, or the class name of Debezium's connector
    database.hostname = "db.internal"
    database.password = "${env:WRACKLINE_DB_PASSWORD}"
    table.include.list = ["public.orders", "public.items"]

    [kafka]                              # kafka.bootstrap.servers, ...
    bootstrap.servers = "broker1:9092"

    [schema.registry]
    url = "http://registry:8081"

    [target]                             # target.kind, ...; without it the pipeline ends in Kafka
    kind = "iceberg"

Every fault is reported at once, except that a file that is not TOML has only one.  Nothing is half-read:
there are values for all of it or for nothing.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Protocol

from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import (
    MOST_LIKENED,
    UNKNOWN,
    CheckedSettings,
    Problem,
    Resolve,
    SettingsRegistry,
    Values,
)
from wrackline.schemas.settings.value_kinds import join_list

FILE = define(
    "pipeline.file",
    OperatorNeeded,
    "{file} can't be read: {why}",
    hint="correct the path or the file's rights, then: wrackline check {file}",
)
SYNTAX = define(
    "pipeline.syntax",
    Definite,
    "{file}, line {line}, column {column}: {reason}",
    hint="{fix}; then: wrackline check {file}",
)
DUPLICATE = define(
    "pipeline.duplicate",
    Definite,
    "{name} is given twice, in different tables",
    hint="keep one of the lines; the name of [source] is not part of a setting's name",
)
WRONG_TYPE = define(
    "pipeline.wrong_type",
    Definite,
    "{name} is a {given}, which can't be the value of a setting",
    hint="write a string, a number, true or false, or a list of them",
)
UNKNOWN_KIND = define(
    "pipeline.unknown_kind",
    Definite,
    "there is no {side} of the kind {kind}",
    hint="{meant}installed: {kinds}",
)

LARGEST_FILE = 1 << 20
GROUPING_TABLE = "source"
TYPING_SLIP = 0.9  # so similar that a name is a mistyped name of the core's
DEBEZIUM_CLASSES = {
    "io.debezium.connector.postgresql.PostgresConnector": "postgres",
    "io.debezium.connector.mysql.MySqlConnector": "mysql",
    "io.debezium.connector.mariadb.MariaDbConnector": "mariadb",
    "io.debezium.connector.sqlserver.SqlServerConnector": "sqlserver",
    "io.debezium.connector.oracle.OracleConnector": "oracle",
}
_ALIASES = {  # as Connect takes them: the class's own name, with or without its last word
    alias: kind
    for one, kind in DEBEZIUM_CLASSES.items()
    for name in [one.rpartition(".")[2]]
    for alias in (one, name, name.removesuffix("Connector"))
}

_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_NAMES = re.compile(r"\((?P<names>['\"].*)\)", re.DOTALL)  # a table's parts, as Python prints them
_FIXES = {
    "Cannot overwrite a value": "write one line for each name; quote a name that begins like another",
    "Cannot declare": "merge the two tables of that name",
    "Invalid value": 'put text in quotes: name = "value"',
    "Expected '='": 'write name = "value"',
    "Illegal character": "a string must end on its line; write \\n for a line break",
    "Unescaped": "write \\\\ for a backslash, or use single quotes: '\\d+'",
}

Side = Literal["source", "target"]
Json = Mapping[str, object]


class Plugins(Protocol):
    """What kinds of sources and targets are installed, and what settings each declares."""

    def kinds(self, side: Side) -> Sequence[str]:
        """Name every kind of this side."""
        ...

    def declared(self, side: Side, kind: str) -> Declared:
        """Return the settings of one of these kinds, or raise why it can't be used."""
        ...


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A checked configuration; `values` is None while a problem is more than a warning."""

    source: str | None
    target: str | None
    registry: SettingsRegistry
    values: Values | None
    problems: tuple[Problem, ...]
    given: Mapping[str, str] = field(default_factory=dict, repr=False)  # it may contain secrets

    def good(self) -> Values:
        """Return the values, or raise the first problem, as of settings whose secrets are gone by now."""
        for problem in self.problems:
            if self.values is None and not problem.warning:
                raise problem.error
        if self.values is None:
            raise ValueError("there are no values, and no problem says why")
        return self.values


def read_file(path: Path) -> str:
    """Return a pipeline file's text, or raise the reason why it can't be read."""
    try:
        if path.exists() and not path.is_file():
            raise FILE(file=path, why="it is not a file")
        if path.stat().st_size > LARGEST_FILE:
            raise FILE(file=path, why=f"it is larger than {LARGEST_FILE} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise FILE(file=path, why=exc.strerror or "the system refuses to read it") from exc
    except UnicodeDecodeError:  # its text would carry the file's bytes
        raise FILE(file=path, why="it is not UTF-8 text") from None
    except ValueError:
        raise FILE(file=path, why="a file can't have this name") from None


def parse(text: str, file: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """Turn TOML into the flat map of settings, with the faults that the map itself cannot show."""
    try:
        document = tomllib.loads(text)
        flat = [(name, value, _text(value)) for name, value in _flat(document)]
    except tomllib.TOMLDecodeError as exc:
        raise _syntax(str(exc), text, file) from None
    except (RecursionError, ValueError):  # nested too deep; a number of thousands of digits
        raise SYNTAX(
            file=file, line="?", column="?", reason="nested too deep, or a number too long", fix="shorten it"
        ) from None
    given: dict[str, str] = {}
    problems: list[Problem] = []
    for name, value, text_value in flat:
        if text_value is None:
            kind = type(value).__name__
            problems.append(Problem(name, WRONG_TYPE(name=shown_name(name), given=kind)))
        elif name in given:
            problems.append(Problem(name, DUPLICATE(name=shown_name(name))))
        else:
            given[name] = text_value
    return given, tuple(problems)


def kind_of(connector_class: str) -> str:
    """Return our kind for a kind of ours, or for the class or the alias of Debezium's connector."""
    return _ALIASES.get(connector_class.strip(), connector_class.strip())


def check(given: Mapping[str, str], plugins: Plugins, resolve: Resolve) -> Pipeline:
    """Check a whole configuration against the core's settings and those of its source and target."""
    parts = [CORE]
    problems: list[Problem] = []
    kinds: dict[Side, str | None] = {"source": None, "target": None}
    sides: tuple[tuple[Side, str], ...] = (("source", "connector.class"), ("target", "target.kind"))
    for side, name in sides:
        wanted = kind_of(given.get(name, ""))
        installed = plugins.kinds(side)
        if wanted in installed:
            try:
                parts.append(plugins.declared(side, wanted))
                kinds[side] = wanted
            except WracklineError as error:
                problems.append(Problem(name, error))
        elif wanted:
            problems.append(Problem(name, _unknown_kind(side, wanted, installed)))
    registry = SettingsRegistry(*parts)
    reading = registry.read(given, resolve)
    judged = reading.problems if not problems and kinds["source"] else _sure(registry, reading)
    named = {problem.setting for problem in judged}  # an invalid kind is named already
    unknown = tuple(problem for problem in problems if problem.setting not in named)
    values = None if problems else reading.values
    return Pipeline(kinds["source"], kinds["target"], registry, values, (*unknown, *judged), given)


def load(path: Path, plugins: Plugins, environ: Mapping[str, str]) -> Pipeline:
    """Read and check a pipeline's file; the file itself may extend what its references may read."""
    given, faults = parse(read_file(path), str(path))
    allowed = Allowed.from_environment(environ).widened_by(given).of_the_owner()
    checked = check(given, plugins, Resolver(allowed, environ))
    if not faults:
        return checked
    named = {fault.setting for fault in faults}  # a value of the wrong type is given, but can't be read
    others = tuple(problem for problem in checked.problems if problem.setting not in named)
    return Pipeline(checked.source, checked.target, checked.registry, None, (*faults, *others), given)


def _flat(table: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            groups = not path and key == GROUPING_TABLE
            yield from _flat(value, () if groups else (*path, key))
        else:
            yield ".".join((*path, key)), value


def _text(value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case list():
            items = [_text(item) for item in value if not isinstance(item, list)]
            known = tuple(item for item in items if item is not None)
            return join_list(known) if len(known) == len(value) else None
        case _:
            return None


def _syntax(message: str, text: str, file: str) -> WracklineError:
    place = _PLACE.search(message)
    reason = _NAMES.sub(_joined, message[: place.start()] if place else message)
    lines = text.splitlines() or [""]
    line = place["line"] if place and place["line"] else len(lines)
    column = place["column"] if place and place["column"] else len(lines[-1]) + 1
    fix = next((fix for start, fix in _FIXES.items() if reason.startswith(start)), "correct the line")
    return SYNTAX(file=file, line=line, column=column, reason=reason, fix=fix)


def _joined(names: re.Match[str]) -> str:
    """Write a table's name as settings are written; its last part may be a salt."""
    parts = re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", names["names"])
    return shown_name(".".join(part[1:-1] for part in parts))


def _unknown_kind(side: Side, wanted: str, installed: Sequence[str]) -> WracklineError:
    near = get_close_matches(wanted.lower(), installed, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    kinds = ", ".join(installed) or "none"
    return UNKNOWN_KIND(side=side, kind=shown_name(wanted), meant=meant, kinds=kinds)


def _sure(registry: SettingsRegistry, reading: CheckedSettings) -> tuple[Problem, ...]:
    """Without its plug-in, a name that resembles nothing of the core's may well be the plug-in's."""
    unknown = [problem for problem in reading.problems if problem.error.code == UNKNOWN.code]
    slips = [one for one in unknown[:MOST_LIKENED] if registry.nearest(one.setting, TYPING_SLIP)]
    return tuple(one for one in reading.problems if one.error.code != UNKNOWN.code or one in slips)
