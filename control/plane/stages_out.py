"""Settings as CDAP's stages and connections.  Pure.

In: flat settings.  Out: a configuration as the document has it; a setting that the document has no property
for is in its object `settings`, so nothing is lost, and `stages_in.py` reads the same settings back.
"""

from collections.abc import Mapping
from typing import Any

from wrackline.control.plane.property_table import (
    DDL,
    DDL_OF_TABLE,
    DML,
    DML_OF_TABLE,
    LABEL,
    PROPERTIES,
    REMOTE,
    PropertyForm,
)
from wrackline.control.plane.stages_in import SOURCE_TYPES, TARGET_TYPES, derived_prefix
from wrackline.control.plane.table_lists import COLUMNS, TABLES, names_in, read_tables, write_directives
from wrackline.schemas.pipelines.pipeline import kind_of
from wrackline.schemas.settings.value_kinds import split_list

_DATABASES = "database.include.list"


def write_stages(settings: Mapping[str, str]) -> dict[str, Any]:
    """Translate."""
    left = dict(settings)
    kinds = {
        "source": kind_of(left.pop("connector.class", "")),
        "target": left.pop("target.kind", ""),
    }
    if left.get("topic.prefix") == derived_prefix(left.get("name", "")):
        del left["topic.prefix"]
    places: dict[str, dict[str, Any]] = {}
    remote = REMOTE in left
    for one in PROPERTIES:
        skipped = (one.kinds and kinds.get(one.place[0], "") not in one.kinds) or (
            remote and one.place[0] == "resources"
        )
        value = None if skipped or one.setting not in left else one.form.write(left[one.setting])
        if value in (None, "") or one.form.read(value) != left[one.setting]:
            continue
        del left[one.setting]
        places.setdefault(".".join(one.place[:-1]), {})[one.place[-1]] = value
    databases = [names_in(one, 1) for one in split_list(left.get(_DATABASES, ""))]
    if kinds["source"] in ("mysql", "mariadb") and len(databases) == 1 and databases[0]:
        del left[_DATABASES]
        places.setdefault("source", {})["database"] = databases[0][0]
    sides = {side: places.pop(side, {}) for side in kinds}
    made: dict[str, Any] = {**places.pop("", {}), **places, **_stages(kinds, sides)}
    if tables := _tables(left, kinds["source"], sides["source"].get("database")):
        made["tables"] = tables
    changed, used = write_directives(left)
    if changed:
        made["tableTransformations"] = [
            {"tableName": ".".join(table), "columnTransformations": one} for table, one in changed.items()
        ]
    if labels := {name.removeprefix(LABEL): left[name] for name in left if name.startswith(LABEL)}:
        made["labels"] = labels
    left = {name: text for name, text in left.items() if name not in used and not name.startswith(LABEL)}
    return made | ({"settings": left} if left else {})


def _stages(kinds: Mapping[str, str], sides: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    types = {"source": SOURCE_TYPES[0], "target": TARGET_TYPES[0]}
    stages = [
        {"name": side, "plugin": {"name": kind, "type": types[side], "properties": dict(sides[side])}}
        for side, kind in kinds.items()
        if kind or sides[side]
    ]
    return {"stages": stages} | (
        {"connections": [{"from": "source", "to": "target"}]} if len(stages) > 1 else {}
    )


def _tables(left: dict[str, str], kind: str, database: str | None) -> list[dict[str, Any]]:
    """Take the settings that choose tables one by one out of what is left; return the tables."""
    tables = read_tables(left) if TABLES in left else None
    if tables is None:
        return []
    for name in (TABLES, COLUMNS):
        left.pop(name, None)
    made = []
    for table, columns in tables.items():
        where = {"database": table.schema}
        if kind not in ("mysql", "mariadb"):
            where = {**({"database": database} if database else {}), "schema": table.schema}
        one: dict[str, Any] = {**where, "table": table.table}
        if columns is not None:
            one["columns"] = [{"name": column} for column in columns]
        _take_list(left, one, "dmlBlacklist", f"{DML_OF_TABLE}{'.'.join(table)}", DML)
        _take_list(left, one, "ddlBlacklist", f"{DDL_OF_TABLE}{'.'.join(table)}", DDL)
        made.append(one)
    return made


def _take_list(
    left: dict[str, str], table: dict[str, Any], name: str, setting: str, form: PropertyForm
) -> None:
    words = form.write(left[setting]) if setting in left else None
    if words and form.read(words) == left[setting]:
        table[name] = words
        del left[setting]
