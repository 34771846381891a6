"""Catalogues that need no container: Iceberg's own REST server, Hive's metastore, and moto's Glue and S3.

In: a folder.  Out: a program, and the lines of a pipeline's file that lead to it.  Hive's metastore is the
one that PySpark brings, with its database in the folder.
"""

import http.client
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyspark

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Program, is_listening
from wrackline.control.local.stack.servers import HOST
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import classpath, fetch
from wrackline.schemas.versions import REST_CATALOGUE

OF_SPARK = Path(pyspark.__path__[0]) / "jars" / "*"
PROGRAMS = Path(__file__).parent / "java"
SERVER, METASTORE = PROGRAMS / "RestCatalogue.java", PROGRAMS / "HiveMetastore.java"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
)


@dataclass(frozen=True)
class Catalogue:
    """A program, what leads to it, and what is to be done once it runs."""

    program: Program
    lines: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None


def rest(folder: Path) -> Catalogue:
    """Serve a folder by Iceberg's REST protocol."""
    port, lake = _port(folder), (folder / "lake").as_uri()
    jars = [path for jars in REST_CATALOGUE for path in fetch(jars)]
    command = [java.find_java().program, "-Xmx256m", "-cp", classpath([*jars, OF_SPARK]), str(SERVER)]
    command += [str(port), lake, str(folder / "tables.db")]
    lines = ['warehouse = "lake"', 'catalog.type = "rest"', f'catalog.uri = "http://{HOST}:{port}"']
    return Catalogue(_program("rest", command, folder, port), lines)


def hive(folder: Path) -> Catalogue:
    """Run Hive's metastore."""
    port, lake = _port(folder), (folder / "lake").as_uri()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "HikariCP",  # of the three, PySpark brings this one
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": lake,
        "hive.async.log.enabled": "false",
        "hive.log.dir": str(folder),
    }
    command = [
        java.find_java().program,
        "-Xmx384m",
        *(f"-D{name}={value}" for name, value in settings.items()),
    ]
    command += ["-cp", str(OF_SPARK), str(METASTORE), "-p", str(port)]
    lines = [f'warehouse = "{lake}"', 'catalog.type = "hive"', f'catalog.uri = "thrift://{HOST}:{port}"']
    return Catalogue(_program("hive", command, folder, port), lines)


def glue(folder: Path) -> Catalogue:
    """Run what answers as Glue and as S3."""
    port = _port(folder)
    url = f"http://{HOST}:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
    lines = [
        'warehouse = "s3://lake/copies"',
        'catalog.type = "glue"',
        f'catalog.glue.endpoint = "{url}"',
        f'catalog.s3.endpoint = "{url}"',
        'catalog.s3.path-style-access = "true"',
    ]
    return Catalogue(_program("glue", command, folder, port), lines, KEYS, partial(_bucket, port))


def _bucket(port: int) -> None:
    """Make the bucket: a PUT of its name."""
    to = http.client.HTTPConnection(HOST, port, timeout=30)
    with closing(to):
        to.request("PUT", "/lake", headers={"Authorization": SIGNED})
        assert to.getresponse().status == 200


def _port(folder: Path) -> int:
    return choose(folder, "catalogue")["catalogue"]


def _program(name: str, command: Sequence[str], folder: Path, port: int) -> Program:
    return Program(name, command, folder, [port], lambda: is_listening(port), patience=120)
