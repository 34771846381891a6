"""What deploy/Dockerfile builds, built here without an engine, carries rows from a table into the warehouse.

The build's own step is run in a folder with what the Dockerfile copies. What comes of it runs as a user that
owns nothing of it, so whatever it wrote outside its volume and /tmp would fail.
"""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.unit.deploy.files import DEPLOY, ROOT
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.stack.postgres import programs
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

INSTALLED = "/opt/wrackline"
VOLUME = "/var/lib/wrackline"
USER = pwd.getpwnam("nobody").pw_uid  # Hadoop asks for a name; the image's own user has one there
BUILD_S, ROWS_S, END_S = 1500, 240.0, 90.0
ROLE = "wrackline_reader"
# it may read the Python that runs the tests, which lies in a private folder at times, and write nothing
AS_USER = (
    [
        *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"),
        *("--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
    ]
    if os.geteuid() == 0
    else []
)

pytestmark = [pytest.mark.deep, pytest.mark.timeout(BUILD_S + 600)]


def dockerfile() -> str:
    return re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())


@dataclass(frozen=True, slots=True)
class Image:
    """An installation, and what the Dockerfile says of how it runs."""

    folder: Path
    volume: Path

    def environment(self) -> dict[str, str]:
        """The variables that the image sets, with its folders where they are here."""
        [named] = re.findall(r"^ENV (.+)$", dockerfile(), re.MULTILINE)
        pairs = dict(word.split("=", 1) for word in named.split())
        moved = {
            name: value.replace(INSTALLED, str(self.folder)).replace(VOLUME, str(self.volume))
            for name, value in pairs.items()
        }
        moved["PATH"] = moved["PATH"].replace("$PATH", os.environ["PATH"])
        return moved

    @contextmanager
    def process(self, words: list[str], **more: str) -> "Iterator[subprocess.Popen[bytes]]":
        """Run the entry point with words behind it, as the image's user."""
        command = [*AS_USER, str(self.folder / "bin/wrackline"), *words]
        environment = {**self.environment(), **more}
        with subprocess.Popen(command, cwd=self.volume, env=environment) as process:
            try:
                yield process
            finally:
                process.kill()

    def healthy(self, page: str) -> int:
        """Return what the image's health check does."""
        [check] = re.findall(r'HEALTHCHECK .* CMD \["(.+)"\]', dockerfile())
        command = [word.replace(INSTALLED, str(self.folder)) for word in check.split('", "')]
        return subprocess.run(
            command, env={**self.environment(), "WRACKLINE_HEALTH": page}, timeout=60, check=False
        ).returncode

    def files(self) -> Mapping[Path, int]:
        """When each file was written."""
        return {path: path.lstat().st_mtime_ns for path in self.folder.rglob("*")}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="wrackline-image-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def image(folder: Path) -> Image:
    source = folder / "src"
    source.mkdir()
    no_build = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    [pipeline] = re.findall(r"^ARG PIPELINE=(.+)$", dockerfile(), re.MULTILINE)
    for words in re.findall(r"^COPY (?!--from)(.+)$", dockerfile(), re.MULTILINE):
        *copied, into = words.replace("${PIPELINE}", pipeline).split()
        for name in copied:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / into, ignore=no_build)
            else:
                if into.endswith("/"):
                    (source / into).mkdir(exist_ok=True)
                shutil.copy(ROOT / name, source / into)
    installed = folder / "opt"
    steps = re.findall(r"^RUN (deploy/.+)$", dockerfile(), re.MULTILINE)
    assert steps == [f"deploy/build.sh {INSTALLED}", f"deploy/jars.sh {INSTALLED} pipeline.toml"]
    for step in steps:
        command = [word.replace(INSTALLED, str(installed)) for word in step.split()]
        ended = subprocess.run(
            command, cwd=source, capture_output=True, text=True, timeout=BUILD_S, check=False
        )
        assert ended.returncode == 0, ended.stderr[-4000:]
    volume = folder / "volume"
    volume.mkdir(mode=0o750)
    if os.geteuid() == 0:
        os.chown(volume, USER, USER)
    return Image(installed, volume)


@pytest.fixture
def shop(database: Database) -> Iterator[Database]:
    """A database as deploy/postgres/init.sh leaves it."""
    environment = {
        "PATH": f"{programs(database.server.major)}:{os.environ['PATH']}",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(database.server.port),
        "POSTGRES_USER": "postgres",
        "POSTGRES_DB": database.name,
        "WRACKLINE_DB_PASSWORD": 'it\'s "random"',
    }
    script = DEPLOY / "postgres/init.sh"
    subprocess.run(["sh", script], env=environment, capture_output=True, timeout=60, check=True)
    yield database
    with psycopg.connect(database.dsn, autocommit=True) as admin:
        admin.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'")
        admin.execute(f"DROP OWNED BY {ROLE}")
        admin.execute(f"DROP ROLE {ROLE}")


@pytest.fixture
def pipeline(folder: Path, shop: Database, kafka: Broker, registry: SchemaRegistry, image: Image) -> Path:
    """deploy/pipeline.toml, with the servers of this machine."""
    ports = choose(folder, "run", "consume")
    text = (DEPLOY / "pipeline.toml").read_text()
    for theirs, ours in {
        'hostname = "postgres"': f'hostname = "127.0.0.1"\ndatabase.port = {shop.server.port}',
        'dbname = "shop"': f'dbname = "{shop.name}"',
        "kafka:9092": kafka.bootstrap,
        "registry:8080": f"127.0.0.1:{registry.port}",
        VOLUME: str(image.volume),
        "9401": str(ports["run"]),
        "9402": str(ports["consume"]),
    }.items():
        assert text.count(theirs) == 1, theirs
        text = text.replace(theirs, ours)
    file = folder / "pipeline.toml"
    file.write_text(text)
    return file


def merged(port: int) -> float:
    """How many rows of those that were there are in the target."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return 0
    lines = re.findall(r'^wrackline_consume_events_total\{.*operation="r".*\} (\S+)$', text, re.MULTILINE)
    return sum(map(float, lines))


def test_what_is_built_carries_rows_and_writes_nowhere_else(
    image: Image, pipeline: Path, folder: Path
) -> None:
    ports = choose(folder, "run", "consume")
    pages = [f"http://127.0.0.1:{ports[name]}/metrics" for name in ("run", "consume")]
    before = image.files()
    with ExitStack() as opened:
        processes = [
            opened.enter_context(
                image.process([command, str(pipeline)], WRACKLINE_DB_PASSWORD='it\'s "random"')
            )
            for command in ("run", "consume")
        ]
        ends = time.monotonic() + ROWS_S
        while merged(ports["consume"]) < 2:
            assert [process.poll() for process in processes] == [None, None]
            assert time.monotonic() < ends
            time.sleep(0.5)
        assert [image.healthy(page) for page in pages] == [0, 0]
        for process in processes:
            process.terminate()
        assert [process.wait(END_S) for process in processes] == [0, 0]
    assert [image.healthy(page) for page in pages] == [1, 1]
    assert list((image.volume / "warehouse").rglob("*.parquet"))
    assert image.files() == before
