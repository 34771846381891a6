"""Settings as a commented TOML file.

In: settings by name.  Out: the file's text.  It is read back before it is shown or written: the result must
be the answers and nothing else, so no answer can add a line.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from wrackline.schemas.pipelines import pipeline
from wrackline.schemas.settings.setting import Declared, Setting
from wrackline.schemas.settings.settings_registry import SettingsRegistry
from wrackline.schemas.settings.value_kinds import SettingKind, split_list

_SOURCE, _TOP = "[source]", ""
_BY_PREFIX = {"kafka.": "[kafka]", "schema.registry.": "[schema.registry]", "target.": "[target]"}
_FILTERS = ("schema.", "table.", "column.")
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ESCAPES = {'"': '\\"', "\\": "\\\\"}
_WIDTH = 100


def write_toml(
    given: Mapping[str, str], registry: SettingsRegistry, source: Declared | None, offered: Sequence[Setting]
) -> str:
    """Return the file's text; `offered` are settings with a default, shown as comments."""
    of_source = {setting.name for setting in source.settings} if source else set[str]()
    blocks: dict[str, list[str]] = {_TOP: [], _SOURCE: [], **{block: [] for block in _BY_PREFIX.values()}}
    for name, text in given.items():
        block, short = _place_in_table(name, of_source)
        setting = registry.find(name)
        blocks[block] += [*_comment(setting), f"{_key(name, short, given)} = {_value(setting, text)}"]
    for setting in offered:
        block, short = _place_in_table(setting.name, of_source)
        default = _value(setting, setting.default or "")
        blocks[block] += [*_comment(setting), f"# {short} = {default}"]
    head = ["# A pipeline of Wrackline. What each line means, and what else there is: wrackline settings"]
    parts = ["\n".join([block, *lines] if block else lines) for block, lines in blocks.items() if lines]
    text = "\n\n".join([*head, *parts]) + "\n"
    _read_back(text, given)
    return text


def _place_in_table(name: str, of_source: set[str]) -> tuple[str, str]:
    """Return the table that a setting belongs to, and its name there."""
    for prefix, block in _BY_PREFIX.items():
        if name.startswith(prefix):
            return block, name.removeprefix(prefix)
    in_source = name in of_source or name.startswith(_FILTERS) or name == "connector.class"
    return (_SOURCE if in_source else _TOP), name


def _comment(setting: Setting | None) -> Iterator[str]:
    if setting is not None:
        yield from (f"# {line}" for line in textwrap.wrap(setting.doc, _WIDTH))


def _key(name: str, short: str, given: Mapping[str, str]) -> str:
    """Write a dotted key; in quotes if another name continues it, or a part is not a bare key."""
    clashes = any(other.startswith(f"{name}.") for other in given)
    bare = all(part and _BARE.issuperset(part) for part in short.split("."))
    return short if bare and not clashes else _quote(short)


def _value(setting: Setting | None, text: str) -> str:
    if setting is not None and setting.type is SettingKind.LIST and "${" not in text:
        items = split_list(text)
        if len(items) > 1:
            return f"[{', '.join(map(_quote, items))}]"
    if (
        setting is not None
        and setting.type in {SettingKind.INT, SettingKind.LONG}
        and text == str(_number(text))
    ):
        return text
    return _quote(text)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.lstrip("-").isdigit() and len(text) < 19 else None


def _quote(text: str) -> str:
    escaped = "".join(
        _ESCAPES.get(letter, letter if letter.isprintable() or letter == " " else f"\\U{ord(letter):08x}")
        for letter in text
    )
    return f'"{escaped}"'


def _read_back(text: str, given: Mapping[str, str]) -> None:
    read, faults = pipeline.parse(text, "the new file")
    if faults or read != dict(given):
        raise ValueError("what was written is not what was answered")
