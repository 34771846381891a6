"""`wrackline init`: asks on a terminal, or takes flags, and writes a pipeline's file.

    flags --> answers --> what is missing: asked, or reported and nothing is written --> checked --> file

No flag takes a password: the file contains where to find it.
"""

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.cli.init import answers, questions
from wrackline.control.cli.init.questions import Question
from wrackline.control.cli.terminal.error_exit import USAGE
from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.files import file_writer, toml_text
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.pipelines.pipeline import Side, check, kind_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings import secret_refs
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.declared.source_settings import NAMING
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.setting import Declared, Setting
from wrackline.schemas.settings.settings_registry import Problem, SettingsRegistry
from wrackline.schemas.settings.value_kinds import join_list, split_list

Text = Annotated[str | None, typer.Option()]
Found = Annotated[str | None, typer.Option(metavar="NAME", help="The variable that holds the password.")]
File = Annotated[Path | None, typer.Option(metavar="PATH", help="The file that holds the password.")]

Ask = Callable[[Setting, str | None], str]  # the text is what an empty answer means; None: nothing

_KINDS: Mapping[str, Side] = {"connector.class": "source", "target.kind": "target"}
_WORKER_PORT, _CONSUMER_PORT = "9401", "9402"  # as in docs and examples
_ENTER = {  # what an empty answer means, where nothing is shown for it
    "database.include.list": "Press Enter to copy all databases.",
    "table.include.list": "Press Enter to copy all tables that the user may read.",
    "target.kind": "Press Enter for none: the pipeline then ends in Kafka.",
}
_PROTECTED = "The TLS mode of the connection."
_OF_POSTGRES = "postgres: verify-full, verify-ca, require, disable"  # to ask the plug-ins would import them
_OF_MYSQL = "mariadb, mysql: verify_identity, verify_ca, required, preferred, disabled"
_OF_SQLSERVER = "sqlserver: true, strict, false"
_OF_ORACLE = "oracle: disabled, verify_ca, verify_identity"
_OF_REDSHIFT = "redshift: verify-full, verify-ca, disable"
_ONE_DATABASE, _SEVERAL = "database.dbname", "database.names"
_ODD = re.compile(r"[^A-Za-z0-9._-]")
_NOT_OF_PREFIXES = re.compile(r"[^A-Za-z0-9_-]")
_PATTERN = re.compile(r"[][\\^$|?*+(){},]")  # several databases, or an expression


def _kinds(side: Side, what: str) -> str:
    return f"{what}. One of: {', '.join(Installed().kinds(side))}."


SourceTls = Annotated[
    str | None,
    typer.Option(
        help=f"{_PROTECTED} For {_OF_POSTGRES}; for {_OF_MYSQL}; for {_OF_SQLSERVER}; for {_OF_ORACLE}."
    ),
]
Databases = Annotated[
    str | None,
    typer.Option(
        help="The database to copy; several, separated by commas; for mariadb and mysql a pattern; for oracle"
        " the service of one."
    ),
]
TargetKind = Annotated[
    str | None,
    typer.Option(help=_kinds("target", "The kind of the target; without it, the pipeline ends in Kafka")),
]


def init(  # noqa: PLR0913 - each is a flag
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The file to write.")] = Path(
        "pipeline.toml"
    ),
    *,
    source: Annotated[str | None, typer.Option(help=_kinds("source", "The kind of the source"))] = None,
    host: Annotated[str | None, typer.Option(help="The source's host.")] = None,
    port: Annotated[str | None, typer.Option(help="The source's port, if not the usual one.")] = None,
    tls: SourceTls = None,
    user: Annotated[str | None, typer.Option(help="The user at the source.")] = None,
    database: Databases = None,
    password_env: Found = None,
    password_file: File = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Regular expressions of schema.table; default: all tables."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The pipeline's name; default: the topic prefix.")] = None,
    topic_prefix: Annotated[str | None, typer.Option(help="The first part of every topic's name.")] = None,
    kafka: Annotated[str | None, typer.Option(help="The brokers: host:port, separated by commas.")] = None,
    registry: Annotated[str | None, typer.Option(help="The schema registry's address.")] = None,
    target: TargetKind = None,
    warehouse: Annotated[str | None, typer.Option(help="The location of the target's tables.")] = None,
    target_host: Annotated[str | None, typer.Option(help="The target's host.")] = None,
    target_port: Annotated[str | None, typer.Option(help="The target's port.")] = None,
    target_tls: Annotated[
        str | None, typer.Option(help=f"{_PROTECTED} For {_OF_POSTGRES}; for {_OF_REDSHIFT}.")
    ] = None,
    target_user: Annotated[str | None, typer.Option(help="The user at the target.")] = None,
    target_database: Annotated[str | None, typer.Option(help="The database to write to.")] = None,
    target_password_env: Found = None,
    target_password_file: File = None,
    others: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any other setting.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Write a pipeline's file from flags or answers.

    It contains no password.
    """
    context.ensure_object(Options).json = json
    file_writer.refuse_existing(file, force=force)
    given = {
        "--source": source, "--host": host, "--port": port, "--user": user, "--database": database,
        "--tables": ",".join(tables or ()) or None, "--name": name, "--topic-prefix": topic_prefix,
        "--kafka": kafka, "--registry": registry, "--target": target, "--warehouse": warehouse,
        "--target-host": target_host, "--target-port": target_port, "--target-user": target_user,
        "--target-database": target_database, "--tls": tls, "--target-tls": target_tls,
    }  # fmt: skip
    flags = {flag: text for flag, text in given.items() if text is not None}
    found = {
        "--password-env": _place("--password-env", password_env, password_file),
        "--target-password-env": _place("--target-password-env", target_password_env, target_password_file),
    }
    asking = InitAnswers(flags, {flag: place for flag, place in found.items() if place}, _pairs(others or ()))
    _refuse_gaps(asking.fill(ask=_ask if sys.stdin.isatty() else None), json=json)
    unset = asking.judge()
    text = toml_text.write_toml(asking.given, asking.registry, asking.declared["source"], asking.offered())
    file_writer.write_file(file, text, force=force)
    _say_written(file, asking.given, unset, json=json)


class InitAnswers:
    """The answers so far: those of flags, then those of a terminal."""

    def __init__(
        self, flags: Mapping[str, str], found: Mapping[str, answers.PasswordPlace], others: Mapping[str, str]
    ) -> None:
        self._flags, self._places, self._others = flags, found, others
        self._used: set[str] = set()
        self._plugins = Installed()
        self.given: dict[str, str] = {}
        self.declared: dict[Side, Declared] = {}
        self._asked_so_far: list[Question] = []
        self._default: str | None = None  # what an empty answer to the next question means

    @property
    def registry(self) -> SettingsRegistry:
        """All settings that this pipeline may have."""
        return SettingsRegistry(CORE, *self.declared.values())

    def fill(self, ask: Ask | None) -> list[str]:
        """Take every answer that exists, and ask for the rest; return the flags that are missing."""
        missing = []
        for question in self._questions(ask):
            self._asked_so_far.append(question)
            if self._answered(question):
                continue
            if ask is not None:
                self._have_asked(question, ask)
            elif question.needed:
                missing.append(question.flag)
        if missing:
            return missing
        for name, text in self._others.items():
            if name in self.given:
                raise typer.BadParameter(f"{shown_name(name)} is given twice: by --set and by its own flag")
            self._put(name, text)
        strange = sorted((self._flags.keys() | self._places.keys()) - self._used)
        if strange:
            raise typer.BadParameter(f"neither the source nor the target has a use for: {', '.join(strange)}")
        self.given.setdefault(NAMING.name, Naming.WRACKLINE_UNICODE.value)
        self._give_ports()
        return []

    def _give_ports(self) -> None:
        """Give both processes a port for their metrics; without a target there is no consumer."""
        self.given.setdefault("metrics.port", _WORKER_PORT)
        if "target.kind" in self.given:
            self.given.setdefault("consume.metrics.port", _CONSUMER_PORT)

    def judge(self) -> list[str]:
        """Check all of it as a start would; return the variables and files that do not exist yet."""
        allowed = Allowed.from_environment(os.environ).widened_by(self.given)
        checked = check(self.given, self._plugins, Resolver(allowed.of_the_owner(), os.environ))
        later = [one for one in checked.problems if one.error.code == secret_refs.NOT_FOUND.code]
        wrong = [one for one in checked.problems if one not in later and not one.warning]
        if wrong:
            raise _one_error(wrong)
        return [one.error.sentence for one in later]

    def offered(self) -> list[Setting]:
        """Return the source's and the target's important defaults."""
        return [
            setting
            for declared in self.declared.values()
            for setting in questions.offered_settings(declared, self._asked_so_far)
            if setting.name not in self.given
        ]

    def _questions(self, ask: Ask | None) -> Iterator[Question]:
        """Ask for the kinds first, because the rest depends on them."""
        core = {setting.name: setting for setting in CORE.settings}
        likely = questions.only_kind(self._plugins, "source")
        self._default = likely if ask else None
        yield Question(core["connector.class"], "--source", needed=True)
        self._default = None
        yield from self._of_kind("source", self.given.get("connector.class", likely))
        databases = (self.given.get(name) for name in (_ONE_DATABASE, _SEVERAL, "database.include.list"))
        self._default = prefix_of(next(filter(None, databases), ""))
        yield Question(core["topic.prefix"], "--topic-prefix", needed=True)
        prefix = self.given.get("topic.prefix", "")
        self._default = _ODD.sub("-", prefix)[:100] or None
        yield Question(core["name"], "--name", needed=False)
        if "name" not in self.given and prefix:
            self._put("name", self._default or prefix)
        self._default = None
        for question in questions.core_questions():
            if question.setting.name != "topic.prefix":
                yield question
        yield Question(core["target.kind"], "--target", needed=False)
        yield from self._of_kind("target", self.given.get("target.kind"))

    def _of_kind(self, side: Side, kind: str | None) -> Iterator[Question]:
        if kind is None:
            return
        if kind not in self._plugins.kinds(side):
            name = "connector.class" if side == "source" else "target.kind"
            checked = check({name: kind}, self._plugins, Resolver(Allowed(), {}))
            raise _one_error([one for one in checked.problems if one.setting == name])
        self.declared[side] = self._plugins.declared(side, kind)
        yield from questions.plugin_questions(side, self.declared[side])

    def _answered(self, question: Question) -> bool:
        name = question.setting.name
        if name in self._others or (name == _ONE_DATABASE and _SEVERAL in self._others):
            return True
        if question.flag in self._flags:
            self._used.add(question.flag)
            self._put(name, self._flags[question.flag])
        elif question.flag in self._places:
            self._used.add(question.flag)
            self._refer(name, self._places[question.flag])
        return name in self.given or (name == _ONE_DATABASE and _SEVERAL in self.given)

    def _have_asked(self, question: Question, ask: Ask) -> None:
        default = question.setting.default or self._default
        while True:
            answer = ask(question.setting, default if question.needed or default else "")
            try:
                if question.of_password:
                    if answer:
                        self._refer(question.setting.name, answers.password_place(answer.strip(), os.environ))
                elif answer.strip() or question.needed:
                    self._put(question.setting.name, answer)
                    self._see_kind(question.setting.name)
            except (WracklineError, ValueError) as reason:
                self.given.pop(question.setting.name, None)
                typer.echo(f"  {reason}", err=True)
            else:
                return

    def _see_kind(self, name: str) -> None:
        side = _KINDS.get(name)
        if side is not None:
            next(self._of_kind(side, self.given[name]), None)

    def _put(self, name: str, text: str) -> None:
        if name == _ONE_DATABASE and "," in text and self.registry.find(_SEVERAL):
            name = _SEVERAL  # one whose name has a comma is given by --set
        setting = self.registry.find(name)
        judged = text if setting is None else answers.judge_answer(setting, name, text)
        side = _KINDS.get(name)
        self.given[name] = judged if side is None else self._kind(side, judged)

    def _kind(self, side: Side, answer: str) -> str:
        """Return the kind that is meant, in any case, also by Debezium's names; else the answer itself."""
        meant = kind_of(answer).lower()
        return meant if meant in self._plugins.kinds(side) else answer

    def _refer(self, name: str, place: answers.PasswordPlace) -> None:
        self.given[name] = place.reference
        for list_name, item in (
            ("secrets.allow.env", place.variable),
            ("secrets.allow.folders", place.folder),
        ):
            if item is not None:
                held = split_list(self.given.get(list_name, ""))
                self.given[list_name] = join_list(tuple(dict.fromkeys((*held, *split_list(item)))))


def _ask(setting: Setting, default: str | None) -> str:
    typer.echo(f"\n{_wrap(setting.doc)}", err=True)
    kinds = Installed().kinds(_KINDS[setting.name]) if setting.name in _KINDS else setting.recommended
    if kinds:
        typer.echo(f"One of: {', '.join(kinds)}.", err=True)
    if not default and setting.name in _ENTER:
        typer.echo(_ENTER[setting.name], err=True)
    if setting.secret:
        typer.echo(
            "Not the password itself: the name of an environment variable, or a file's path.", err=True
        )
        default = ""
    answer = typer.prompt(setting.name, default=default, show_default=bool(default), err=True)
    return str(answer)


def _wrap(text: str) -> str:
    return textwrap.fill(text, min(100, shutil.get_terminal_size().columns), break_long_words=False)


def _refuse_gaps(missing: Sequence[str], *, json: bool) -> None:
    if not missing:
        return
    why = f"there is no terminal to ask on, and these are missing: {', '.join(missing)}"
    if not json:
        raise typer.BadParameter(why)
    print_json({"error": USAGE(why=why, command="wrackline init").document(), "missing": missing})
    typer.echo(f"Error: {why}", err=True)
    raise typer.Exit(Exit.USAGE)


def _place(flag: str, variable: str | None, path: Path | None) -> answers.PasswordPlace | None:
    if variable is not None and path is not None:
        raise typer.BadParameter(f"{flag} and {flag.replace('-env', '-file')} exclude each other")
    try:
        if path is not None:
            return answers.file_place(path)
        return None if variable is None else answers.variable_place(variable, os.environ)
    except ValueError as reason:
        shown = flag if path is None else flag.replace("-env", "-file")
        refused = typer.BadParameter(f"{shown}: {reason}")
    raise refused


def prefix_of(database: str) -> str | None:
    """Return the prefix to offer for a database; nothing if the text may mean several."""
    several = _PATTERN.search(database)
    return None if several else _NOT_OF_PREFIXES.sub("-", database)[:40].strip("-") or None


def _pairs(others: Sequence[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for pair in others:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter("--set takes NAME=VALUE, as slot.name=shop")
        if name.strip() in made:
            raise typer.BadParameter(f"{shown_name(name)} is given twice")
        made[name.strip()] = text
    return made


def _one_error(problems: Sequence[Problem]) -> WracklineError:
    return problems[0].error


def _say_written(file: Path, given: Mapping[str, str], unset: Sequence[str], *, json: bool) -> None:
    following = f"wrackline check {shlex.quote(file_writer.printable_path(file))}"
    if json:
        settings = {shown_name(name): text for name, text in given.items()}
        print_json(
            {
                "file": file_writer.printable_path(file),
                "settings": settings,
                "not_yet": unset,
                "next": following,
            }
        )
        return
    say(f"written: {file_writer.printable_path(file.absolute())}, {len(given)} settings")
    for one in unset:
        say(f"not there yet: {one}")
    say(f"next: {following}")
