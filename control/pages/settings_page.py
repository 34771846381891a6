"""Prints docs/settings.md: every setting of every pipeline and plug-in, and what is not obeyed."""

from collections.abc import Iterable, Mapping

from wrackline.control.pages.errors_page import cell
from wrackline.control.runtime.ground.installed import registries
from wrackline.schemas.settings.setting import NotHonoured, NotYet, Setting
from wrackline.schemas.settings.settings_registry import SettingsRegistry

HEAD = """# Settings

Printed from the code by `python -m wrackline.control.pages.settings_page > docs/settings.md`.
On the command line: `wrackline settings <name>`.

A pipeline's file is TOML. Its tables and dotted names are joined by dots; the table `[source]` only groups:

```toml
name = "shop"
topic.prefix = "shop1"

[source]
connector.class = "postgres"
database.hostname = "db.internal"
database.user = "wrackline"
database.password = "${env:WRACKLINE_DB_PASSWORD}"
database.dbname = "shop"
table.include.list = ["public.orders", "public.items"]

[kafka]
bootstrap.servers = "broker1:9092"

[schema.registry]
url = "http://registry:8081"
```

The same names and values, as strings in JSON, are what REST takes.
Names are Debezium's and Kafka Connect's where they have them.
A value may hold `${env:NAME}`, `${file:PATH:KEY}` (a properties file), `${dir:PATH:KEY}` or `${secure(KEY)}`.
What may be read stands in `WRACKLINE_SECRETS_ALLOW` (`env:SHOP_*,dir:/run/secrets`); variables `WRACKLINE_*`
always may. In a list, `\\,` is a comma inside an item. A name with `<...>` stands for many.
"""

TITLES = {"": "Every pipeline"}


def page(parts: Mapping[str, SettingsRegistry]) -> str:
    """Return the page: the core's groups, then each plug-in's."""
    sections = [HEAD]
    for part, registry in parts.items():
        sections.append(f"## {TITLES.get(part, part.capitalize())}\n")
        settings = registry.settings.values()
        groups = dict.fromkeys(setting.group for setting in settings)
        sections += [_table(group, [s for s in settings if s.group == group]) for group in groups]
        if registry.not_yet:
            sections.append(_not_yet(registry.not_yet))
        if registry.not_honoured:
            sections.append(_not_honoured(registry.not_honoured))
    return "\n".join(sections)


def _table(group: str, settings: Iterable[Setting]) -> str:
    rows = [_row(setting) for setting in settings]
    head = ["| name | type | default | importance | meaning |", "|---|---|---|---|---|"]
    return "\n".join([f"### {group}\n", *head, *rows, ""])


def _row(setting: Setting) -> str:
    default = "required" if setting.required else f"`{setting.default}`" if setting.default else ""
    importance = setting.importance.value.lower()
    kind = setting.type.value.lower()
    words = f" One of: {', '.join(setting.recommended)}." if setting.recommended else ""
    return f"| `{setting.name}` | {kind} | {default} | {importance} | {cell(setting.doc + words)} |"


def _not_yet(entries: Iterable[NotYet]) -> str:
    rows = [f"| `{entry.name}` | {cell(entry.now)} | {cell(entry.hint)} |" for entry in entries]
    head = ["| name | now | meanwhile |", "|---|---|---|"]
    return "\n".join(["### Not obeyed yet\n", *head, *rows, ""])


def _effect(entry: NotHonoured) -> str:
    effect = "refused" if entry.refused else "no effect"
    if entry.mild:
        effect += f"; no effect as {', '.join(f'`{value}`' for value in entry.mild)}"
    if entry.done:
        effect += f"; done anyway: {', '.join(f'`{value}`' for value in entry.done)}"
    return effect


def _not_honoured(entries: Iterable[NotHonoured]) -> str:
    rows = [
        f"| `{entry.name}` | {_effect(entry)} | {cell(entry.why)} | {cell(entry.hint)} |" for entry in entries
    ]
    head = ["| name | | why | instead |", "|---|---|---|---|"]
    return "\n".join(["### Known, and not honoured\n", *head, *rows, ""])


if __name__ == "__main__":
    print(page(registries()), end="")
