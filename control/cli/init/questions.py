"""The questions for a pipeline's file, made from what the plug-ins declare.

In: the kinds of source and target.  Out: questions, in the order in which they are asked.  A required setting
is always asked; a setting for reaching a server has its own flag, by the last part of its name, so a new kind
whose settings end in .hostname, .port or .user needs no code here.  All else is `--set`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wrackline.schemas.pipelines.pipeline import Plugins, Side
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.setting import Declared, Importance, Setting

PASSWORD = "password"  # noqa: S105 - the last part of a setting's name
_OF_CORE = {
    "topic.prefix": "--topic-prefix",
    "table.include.list": "--tables",
    "kafka.bootstrap.servers": "--kafka",
    "schema.registry.url": "--registry",
}
_BY_LAST_PART = {
    "hostname": "host",
    "port": "port",
    "user": "user",
    "dbname": "database",
    "warehouse": "warehouse",
    "sslmode": "tls",
}
_BY_NAME = {
    "database.include.list": "database",  # of a server whose databases share one log
    "database.ssl.mode": "tls",
    "driver.encrypt": "tls",
}
_SEVERAL = "database.names"
_OF_ONE_SIDE = frozenset({"warehouse"})  # no source has one, so the flag needs no prefix


@dataclass(frozen=True, slots=True)
class Question:
    """One setting to be answered, and the flag that answers it."""

    setting: Setting
    flag: str
    needed: bool

    @property
    def of_password(self) -> bool:
        """Whether it asks where to find a password."""
        return self.setting.secret


def core_questions() -> list[Question]:
    """Return what every pipeline is asked, after its source's own questions."""
    settings = {setting.name: setting for setting in CORE.settings}
    return [Question(settings[name], flag, settings[name].required) for name, flag in _OF_CORE.items()]


def plugin_questions(side: Side, declared: Declared) -> list[Question]:
    """Return what this kind requires, and how its server is reached."""
    return [question for setting in declared.settings for question in _of(side, setting)]


def offered_settings(declared: Declared, asked: Sequence[Question]) -> list[Setting]:
    """Return the important settings that have a default, to be shown beside the answers."""
    names = {question.setting.name for question in asked}
    return [
        setting
        for setting in declared.settings
        if setting.importance is Importance.HIGH
        and setting.default is not None
        and not setting.family
        and setting.name not in names
    ]


def only_kind(plugins: Plugins, side: Side) -> str | None:
    """Return the one kind that is installed, if there is one only."""
    kinds = plugins.kinds(side)
    return kinds[0] if len(kinds) == 1 else None


def flag_of(side: Side, setting: Setting) -> str | None:
    """Return the flag that a setting has of its own."""
    last = setting.name.rpartition(".")[2]
    word = _BY_NAME.get(setting.name) or _BY_LAST_PART.get(last)
    if setting.name == _SEVERAL and setting.required:  # elsewhere it stands beside the one database
        word = "database"
    if setting.secret:  # a key file's own password is not a log-in
        word = "password-env" if last == PASSWORD and setting.name.count(".") == 1 else None
    if word is None or setting.family:
        return None
    return f"--{word}" if side == "source" or word in _OF_ONE_SIDE else f"--target-{word}"


def _of(side: Side, setting: Setting) -> Iterator[Question]:
    if setting.family:
        return
    flag = flag_of(side, setting)
    if flag is not None:
        yield Question(setting, flag, setting.required)
    elif setting.required:
        yield Question(setting, f"--set {setting.name}=...", needed=True)
