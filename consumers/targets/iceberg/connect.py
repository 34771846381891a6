"""Where an Iceberg target's tables lie, and what a Spark session needs to reach them.

In: the settings.  Out: the session's configuration, and each table's name in it.  Names are safe as parts
of a path, whatever the source calls its tables.  Two tables that get the same name are distinguished by
what the first one says of itself (lake/table_shape.py), so the second is refused.

No extension of Spark's is needed: since version 4 it knows MERGE and CALL by itself.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wrackline.consumers.contract.identifiers import Case, Identifiers, target_name
from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.lake.merge_sql import quote
from wrackline.consumers.targets.iceberg.config import OF_OUR_OWN
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.pipelines.lineage_names import Located, by_address
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.versions import ICEBERG, ICEBERG_AWS, Coordinate

CATALOG = "lake"  # the catalogue's name in the Spark session

UNSAFE_WAREHOUSE = define(
    "iceberg.unsafe_warehouse",
    OperatorNeeded,
    "a catalogue of the type hadoop needs a rename that fails if the name exists, and {scheme} has none",
    hint='use a catalogue that commits by itself: target.catalog.type = "rest" (or hive, or glue)',
)

ELSEWHERE = define(
    "iceberg.warehouse_elsewhere",
    OperatorNeeded,
    "an older version has put the tables of {warehouse} into {old}",
    hint="move them; the link is for the paths in their metadata: {command}; or, if they are not needed:"
    " rm -r {unwanted}",
)

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")
_ON_S3 = ("s3:", "s3a:", "s3n:")
_RENAMES = frozenset({"file", "hdfs", "viewfs"})
_IN_A_PATH = Identifiers(most_characters=200, most_bytes=200, refused=r"[/\\:\x00-\x1f\x7f]|^\.|\.$")
_IN_A_SERVICE = Identifiers(most_characters=127, case=Case.LOWER, refused="[^A-Za-z0-9_]")
_TABLE_NAMES = {"hadoop": _IN_A_PATH, "rest": _IN_A_PATH, "hive": _IN_A_SERVICE, "glue": _IN_A_SERVICE}


@dataclass(frozen=True, slots=True)
class IcebergPlace:
    """Where the tables lie."""

    namespace: str  # with {database} and {schema}
    names: Identifiers

    def levels(self, table: TableId) -> tuple[str, ...]:
        """Return the namespace, level by level; a dot in a schema's own name begins none."""
        own = {"database": table.database, "schema": table.schema}
        return tuple(target_name(part.format_map(own), self.names) for part in self.namespace.split("."))

    def quoted_namespace(self, table: TableId) -> str:
        """Return the namespace as Spark SQL names it."""
        return _join_levels((CATALOG, *self.levels(table)))

    def quoted_name(self, table: TableId) -> str:
        """Return the table's name as Spark SQL has it."""
        return self.quoted_beside(table, target_name(table.name, self.names))

    def quoted_beside(self, table: TableId, name: str) -> str:
        """Return what Spark SQL calls a table of this name in the same namespace."""
        return _join_levels((CATALOG, *self.levels(table), name))

    def within_catalogue(self, table: TableId, name: str) -> str:
        """Return the same without the catalogue's name, as Spark wants the new name of a table."""
        return _join_levels((*self.levels(table), name))


def can_rename(settings: Values) -> bool:
    """Whether the catalogue renames tables: one of the type hadoop finds them by their folders."""
    return settings.text("target.catalog.type") != "hadoop"


def place(settings: Values) -> IcebergPlace:
    """Return where the settings put the tables."""
    return IcebergPlace(settings.text("target.namespace"), _TABLE_NAMES[settings.text("target.catalog.type")])


def locate(settings: Values, table: TableId) -> Located:
    """Return where a table is to readers of lineage: its folder; or its catalogue, where only that knows.

    Glue keeps a database's tables in a folder whose name ends in .db, unless it is configured otherwise.
    """
    where, kind = place(settings), settings.text("target.catalog.type")
    *levels, name = *where.levels(table), target_name(table.name, where.names)
    if kind in ("rest", "hive"):
        catalogue = by_address(settings.text("target.catalog.uri")).namespace
        namespace = catalogue.replace("thrift:", "hive:", 1) if kind == "hive" else catalogue
        return Located(namespace, ".".join((*levels, name)))
    folders = "/".join(levels) if kind == "hadoop" else f"{'.'.join(levels)}.db"
    return by_address(f"{_warehouse(settings).rstrip('/')}/{folders}/{name}")


def check_place(settings: Values) -> None:
    """Refuse to begin beside the tables of an older version, which wrote a space in a path as %20."""
    given = settings.text("target.warehouse")
    if settings.text("target.catalog.type") != "hadoop" or _SCHEME.match(given):
        return
    place = Path(given).absolute()
    old = Path(place.as_uri().removeprefix("file://"))
    missing = sorted(_folders(old) - _folders(place))  # of namespaces
    if missing:
        command, unwanted = _move_command(old, place, missing)
        raise ELSEWHERE(warehouse=place, old=old, command=command, unwanted=unwanted)


def _folders(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir() if one.is_dir()} if folder.is_dir() else set()


def _move_command(old: Path, place: Path, missing: list[str]) -> tuple[str, str]:
    """Return the command that moves and links them, and what it moves; what is in the place stays there."""
    if place.is_dir() and any(place.iterdir()):
        parts = [(shlex.quote(str(old / name)), shlex.quote(str(place / name))) for name in missing]
        return " && ".join(f"mv {one} {to} && ln -s {to} {one}" for one, to in parts), " ".join(
            one for one, _ in parts
        )
    from_, to, parent = (shlex.quote(str(path)) for path in (old, place, place.parent))
    empty = f"rmdir {to} && " if place.is_dir() else ""
    return f"mkdir -p {parent} && {empty}mv {from_} {to} && ln -s {to} {from_}", from_


def needs(settings: Values) -> SparkNeeds:
    """Return the jars and the configuration of a session that reaches the catalogue."""
    kind, warehouse = settings.text("target.catalog.type"), _warehouse(settings)
    catalogue = {"type": kind, "warehouse": warehouse, "cache-enabled": "false"}
    if kind == "hive" and warehouse.startswith(_ON_S3):
        catalogue["io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"  # the others find it by themselves
    if settings["target.catalog.uri"] is not None:
        catalogue["uri"] = settings.text("target.catalog.uri")
    for place_of, value in settings.family("target.catalog.<property>"):
        if place_of["property"] not in OF_OUR_OWN and isinstance(value, Secret):
            catalogue[place_of["property"]] = value.reveal()
    prefix = f"spark.sql.catalog.{CATALOG}"
    conf = {f"{prefix}.{name}": value for name, value in catalogue.items()}
    return SparkNeeds(_jars(kind, warehouse), {prefix: "org.apache.iceberg.spark.SparkCatalog", **conf})


def _join_levels(names: Iterable[str]) -> str:
    return ".".join(map(quote, names))


def _warehouse(settings: Values) -> str:
    """Return the warehouse as Iceberg wants it: a folder as an address, what has a scheme as it is."""
    given, kind = settings.text("target.warehouse"), settings.text("target.catalog.type")
    if kind == "rest":
        return given  # the catalogue's own name for it
    scheme = _SCHEME.match(given)
    if scheme is None:
        return f"file://{Path(given).absolute()}"  # Hadoop takes the letters as they are, %20 too
    if kind == "hadoop" and scheme[1] not in _RENAMES:
        raise UNSAFE_WAREHOUSE(scheme=scheme[1])
    return given


def _jars(kind: str, warehouse: str) -> tuple[Coordinate, ...]:
    # only a REST catalogue knows where it keeps the files
    aws = kind in {"glue", "rest"} or warehouse.startswith(_ON_S3)
    return (ICEBERG, ICEBERG_AWS) if aws else (ICEBERG,)
