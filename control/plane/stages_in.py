"""CDAP's stages and connections as settings.  Pure.

    {"stages": [source, target], "connections": [an edge], "tables": […], "settings": {ours}}  ->  settings

In: a configuration as the document has it, and which settings there are.  Out: flat settings, and every
property that has no effect, by its place.  More than one source, target or edge is refused: a pipeline is a
line.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from wrackline.control.plane.property_table import (
    DDL,
    DDL_OF_TABLE,
    DML,
    DML_OF_TABLE,
    IGNORED,
    LABEL,
    PROPERTIES,
    REMOTE,
    UNKNOWN,
    IgnoredReason,
    Place,
    PropertyForm,
)
from wrackline.control.plane.table_lists import TableName, read_directive, write_tables
from wrackline.control.runtime.rest.model.drafts import NOT_DRAFT
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.pipelines.pipeline import kind_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.value_kinds import join_list

SOURCE_TYPES: Final = ("cdcSource", "cdc-origin")
TARGET_TYPES: Final = ("cdcTarget", "cdc-destination")
_STAGE: Final = frozenset({"name", "plugin"})
_PLUGIN: Final = frozenset({"name", "type", "properties"})
_TABLE: Final = frozenset({"database", "schema", "table", "name", "columns", "dmlBlacklist", "ddlBlacklist"})
_WHOLE: Final = frozenset({"stages", "connections", "tables", "tableTransformations", "labels", "settings"})
_OBJECTS: Final = ("resources", "retries", "parallelism")
_SCHEMAS: Final[Mapping[str, str]] = {"postgres": "public", "sqlserver": "dbo"}  # where none is named
_AS_IS: Final = IgnoredReason("its value can't be used as it is", "see: wrackline settings")
_REMOTE_SPARK: Final = IgnoredReason(
    "Spark runs elsewhere (spark.remote)", "set it where that Spark is started"
)
_NO_TABLE: Final = IgnoredReason(
    "it is not known which table is meant", "name it as <schema>.<table>, or choose it in tables"
)
_NO_DIRECTIVE: Final = IgnoredReason(
    "there is no such transformation", "drop :c, set-type :c string and mask-number :c xxxx have an effect"
)


@dataclass(frozen=True, slots=True)
class IgnoredProperty:
    """A property without effect; the place contains no value."""

    place: str
    reason: IgnoredReason


@dataclass(slots=True)
class Translation:
    """Settings, and what of the document they do not say."""

    settings: dict[str, str] = field(default_factory=dict, repr=False)
    ignored: list[IgnoredProperty] = field(default_factory=list)

    def ignore(self, place: Sequence[str], reason: IgnoredReason) -> None:
        """Report a property without effect."""
        self.ignored.append(IgnoredProperty(".".join(map(shown_name, place)), reason))


def derived_prefix(name: str) -> str:
    """Return the `topic.prefix` of a pipeline whose document says none."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:200]


def kinds_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kinds of source and target of stages; empty where there is none."""
    source, target, _ = _find_stages(config)
    return kind_of(str(_plugin(source).get("name", ""))), str(_plugin(target).get("name", ""))


def read_stages(config: Mapping[str, Any], knows: Callable[[str], bool], name: str = "") -> Translation:
    """Translate; `knows` tells whether there is a setting, and `name` is the draft's."""
    made = Translation()
    source, target, others = _find_stages(config)
    for place in others:
        made.ignore(place, UNKNOWN)
    _take_connections(config, source, target)
    kinds = {
        "source": kind_of(str(_plugin(source).get("name", ""))),
        "target": str(_plugin(target).get("name", "")),
    }
    if kinds["source"]:
        made.settings["connector.class"] = kinds["source"]
    if kinds["target"]:
        made.settings["target.kind"] = kinds["target"]
    own = _object(config.get("settings", {}), "settings")
    for place, value in _properties(config, source, target):
        reason = _take_property(made, place, value, kinds, knows, own)
        if reason is not None:
            made.ignore(place, reason)
    _take_labels(made, config, knows)
    tables = _take_tables(made, config, kinds["source"], knows)
    _take_transformations(made, config, tables)
    for setting, value in own.items():
        if isinstance(value, dict | list) or value is None:
            raise NOT_DRAFT(why=f"the setting {shown_name(setting)} is not a text, a number, true or false")
        made.settings[setting] = str(value).lower() if isinstance(value, bool) else str(value)
    made.settings.setdefault("name", name)
    made.settings.setdefault("topic.prefix", derived_prefix(made.settings["name"]))
    return made


def _take_property(
    made: Translation,
    place: Place,
    value: object,
    kinds: Mapping[str, str],
    knows: Callable[[str], bool],
    own: Mapping[str, Any],
) -> IgnoredReason | None:
    if value in (None, "", []):
        return None
    if place == ("source", "database") and kinds["source"] in ("mysql", "mariadb"):
        made.settings["database.include.list"] = join_list((exact_pattern(str(value)),))
        return None
    for one in PROPERTIES:
        if (
            one.place == place
            and (not one.kinds or kinds.get(place[0], "") in one.kinds)
            and knows(one.setting)
        ):
            if place[0] == "resources" and REMOTE in own:
                return _REMOTE_SPARK
            text = one.form.read(value)
            if text is None:
                return _AS_IS
            made.settings[one.setting] = text
            return None
    return IGNORED.get(place, UNKNOWN)


def _properties(
    config: Mapping[str, Any], source: Mapping[str, Any], target: Mapping[str, Any]
) -> Iterator[tuple[Place, object]]:
    for name, value in config.items():
        if name in _OBJECTS and isinstance(value, dict):
            yield from (((name, inner), one) for inner, one in value.items())
        elif name not in _WHOLE:
            yield (name,), value
    for side, stage in (("source", source), ("target", target)):
        plugin = _plugin(stage)
        yield from (((side, name), value) for name, value in stage.items() if name not in _STAGE)
        yield from (((side, name), value) for name, value in plugin.items() if name not in _PLUGIN)
        properties = _object(plugin.get("properties", {}), "properties")
        yield from (((side, name), value) for name, value in properties.items())


def _find_stages(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any], list[Place]]:
    """Return source, target, and the places of stages that are neither."""
    sides: dict[str, Mapping[str, Any]] = {}
    others: list[Place] = []
    for number, stage in enumerate(_list(config.get("stages", []), "stages")):
        of = str(_plugin(_object(stage, "a stage")).get("type", ""))
        side = "source" if of in SOURCE_TYPES else "target" if of in TARGET_TYPES else ""
        if not side:
            others.append(("stages", str(number)))
        elif side in sides:
            raise NOT_DRAFT(why=f"it has more than one {side}; a pipeline has one of each")
        else:
            sides[side] = stage
    return sides.get("source", {}), sides.get("target", {}), others


def _plugin(stage: Mapping[str, Any]) -> Mapping[str, Any]:
    return _object(stage.get("plugin", {}), "a stage's plugin")


def _take_connections(
    config: Mapping[str, Any], source: Mapping[str, Any], target: Mapping[str, Any]
) -> None:
    edges = _list(config.get("connections", []), "connections")
    wanted = {"from": source.get("name"), "to": target.get("name")}
    if len(edges) > 1 or any(edge != wanted for edge in edges):
        raise NOT_DRAFT(why="its connections are not the one from the source to the target")


def _take_labels(made: Translation, config: Mapping[str, Any], knows: Callable[[str], bool]) -> None:
    for name, value in _object(config.get("labels", {}), "labels").items():
        if knows(LABEL + name) and isinstance(value, str):
            made.settings[LABEL + name] = value
        else:
            made.ignore(("labels", name), UNKNOWN)


def _take_tables(
    made: Translation, config: Mapping[str, Any], kind: str, knows: Callable[[str], bool]
) -> list[TableName]:
    tables: dict[TableName, Sequence[str] | None] = {}
    for number, entry in enumerate(_list(config.get("tables", []), "tables")):
        one = _object(entry, "a table")
        name = str(one.get("table") or one.get("name") or "")
        over = one.get("schema") or _SCHEMAS.get(kind) or one.get("database") or ""
        table = TableName(str(over), name)
        if not all(table):
            made.ignore(("tables", str(number)), _NO_TABLE)
            continue
        tables[table] = _take_columns(made, one)
        _take_list(made, ("tables", "dmlBlacklist"), one, DML, f"{DML_OF_TABLE}{'.'.join(table)}", knows)
        _take_list(made, ("tables", "ddlBlacklist"), one, DDL, f"{DDL_OF_TABLE}{'.'.join(table)}", knows)
        for other in one.keys() - _TABLE:
            made.ignore(("tables", str(number), other), UNKNOWN)
    made.settings |= write_tables(tables)
    return list(tables)


def _take_columns(made: Translation, table: Mapping[str, Any]) -> list[str] | None:
    columns = [_object(one, "a column") for one in _list(table.get("columns", []), "columns")]
    for name in sorted({name for one in columns for name in one} - {"name"}):
        place = ("tables", "columns", name)
        made.ignore(place, IGNORED.get(place, UNKNOWN))
    return [str(one.get("name", "")) for one in columns] or None


def _take_list(
    made: Translation,
    place: Place,
    table: Mapping[str, Any],
    form: PropertyForm,
    setting: str,
    knows: Callable[[str], bool],
) -> None:
    value = table.get(place[-1])
    text = form.read(value) if value else ""
    if text is None or (value and not knows(setting)):
        made.ignore(place, UNKNOWN if text is not None else _AS_IS)
    elif text:
        made.settings[setting] = text


def _take_transformations(made: Translation, config: Mapping[str, Any], tables: Sequence[TableName]) -> None:
    lists: dict[str, list[str]] = {}
    for number, entry in enumerate(_list(config.get("tableTransformations", []), "tableTransformations")):
        one = _object(entry, "a transformation")
        schema, _, name = str(one.get("tableName", "")).rpartition(".")
        named = (
            [table for table in tables if table.table == name] if not schema else [TableName(schema, name)]
        )
        for place, change in enumerate(_list(one.get("columnTransformations", []), "columnTransformations")):
            directive = str(_object(change, "a transformation").get("directive", ""))
            found = read_directive(named[0], directive) if len(named) == 1 else None
            if found is None:
                where = ("tableTransformations", str(number), "columnTransformations", str(place))
                made.ignore(where, _NO_TABLE if len(named) != 1 else _NO_DIRECTIVE)
            else:
                lists.setdefault(found[0], []).append(found[1])
    made.settings |= {setting: join_list(tuple(patterns)) for setting, patterns in lists.items()}


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise NOT_DRAFT(why=f"{what} is not an object")
    return value


def _list(value: object, what: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise NOT_DRAFT(why=f"{what} is not a list")
    return value
