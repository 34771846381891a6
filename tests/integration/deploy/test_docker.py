"""The image and the compose file on a real Docker engine, with stand-ins for the images of others.

What a user types is typed: make-env.sh, `docker compose up --build`, `exec`, `restart`, `down`.  All of it is
in one file, for there is one engine at a time.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures import stand_ins
from tests.fixtures.engine import Engine
from tests.unit.deploy.files import DASHBOARDS, ROOT, asked, dashboard, services

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUILD_S, PATIENCE = 3000, 600.0
LOCKED = ["--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
FIGURES = ("worker", "consume", "prometheus")  # which share the network of `pod`
STAND_INS = ("kafka", "registry", "postgres", "mysql", "mariadb", "prometheus", "grafana")
VARIABLE = re.compile(r"\$\w+")
CHOSEN = {"$__rate_interval": "10m", "$server": "shop1", "$task": "0", "$database": "shop"}
# faults, upkeep that was not due, and what other sources or expectations have
UNSERVED = re.compile(
    "recoveries|outages|failures|faults|unfit|set_aside|incomplete|upkeep|retained_ratio|log_kept|expected_rows"
)
READ = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
[jar] = Path("/opt/wrackline/jars").rglob("iceberg-spark-runtime-*.jar")
spark = SparkSession.builder.master("local[1]").config("spark.jars", str(jar)).getOrCreate()
table = spark.read.format("iceberg").load(f"/var/lib/wrackline/warehouse/{sys.argv[1]}")
for row in table.select("customer").collect():
    print("row", row.customer)
"""

pytestmark = [pytest.mark.deep, pytest.mark.timeout(BUILD_S + 1800)]


def until(held: Callable[[], bool], what: str) -> None:
    """Wait for a condition; what is not there yet may refuse, or answer nothing."""
    ends = time.monotonic() + PATIENCE
    while not held():
        assert time.monotonic() < ends, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(1)


class Composed:
    """The compose file with an .env of its own, in a folder with what the repository has."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder

    def __call__(self, *words: str) -> str:
        """Run `docker compose` with these words."""
        return self.engine.docker("compose", *words, cwd=self.folder, patience=BUILD_S)

    @property
    def secrets(self) -> dict[str, str]:
        """What is in .env."""
        lines = (self.folder / ".env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))

    def choose(self, **values: str) -> None:
        """Change .env."""
        text = (self.folder / ".env").read_text()
        for name, value in values.items():
            text = re.sub(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        (self.folder / ".env").write_text(text)

    def container(self, service: str) -> Any:
        """All that the engine knows of a service's container."""
        return self.engine.inspect(f"wrackline-{service}-1")

    def healthy(self) -> bool:
        """Whether every container that is to run does, and its health check says so."""
        there = [json.loads(line) for line in self("ps", "--format", "json").splitlines()]
        return bool(there) and all(one["Health"] == "healthy" for one in there)

    def kill(self, service: str) -> None:
        """Kill a container from outside; the engine starts it again by itself, and it becomes healthy."""
        before = self.container(service)["State"]
        os.kill(before["Pid"], signal.SIGKILL)
        until(
            lambda: self.container(service)["State"]["StartedAt"] != before["StartedAt"], f"{service} is back"
        )
        if service == "pod":  # those in its network have lost it, as docs/deploying.md says
            self("restart", *FIGURES)
        until(self.healthy, f"all are healthy after {service} was killed")

    def rest(self, path: str, token: str | None = None) -> Any:
        """Ask the worker."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://127.0.0.1:28083{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 as above
            return json.load(answer)

    def figures(self, expression: str, path: str = "query") -> list[Any]:
        """Ask Prometheus."""
        words = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://127.0.0.1:29090/api/v1/{path}?{words}", timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
        assert isinstance(found, list)
        return found

    def warehouse(self) -> Path:
        """Where the engine keeps the tables."""
        return Path(
            self.engine.docker("volume", "inspect", "--format={{.Mountpoint}}", "wrackline_warehouse").strip()
        )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with what a build and a start need of the repository."""
    made = Path(tempfile.mkdtemp(prefix="wrackline-compose-"))
    named = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    unbuilt = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    for name in (*named, ".dockerignore", "docker-compose.yml"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, made / name, ignore=unbuilt)
        else:
            shutil.copy(ROOT / name, made / name)
    subprocess.run(["deploy/make-env.sh"], cwd=made, capture_output=True, timeout=60, check=True)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def built(engine: Engine, folder: Path) -> Engine:
    """The engine with our image."""
    stand_ins.make_base(engine)
    build = ["build", "--file", "deploy/Dockerfile", "--tag", "wrackline", "."]
    engine.docker(*build, cwd=folder, patience=BUILD_S)
    return engine


@pytest.fixture(scope="module")
def composed(built: Engine, folder: Path) -> Composed:
    """The compose file, with an image for each that it names."""
    stand_ins.make(built, *STAND_INS)
    return Composed(built, folder)


def test_the_image_runs_as_its_user_and_can_write_its_volume_and_tmp_alone(built: Engine) -> None:
    run = ["run", *LOCKED, "--tmpfs=/tmp:mode=1777", "--entrypoint=sh", "wrackline", "-c"]
    assert built.docker(*run, "id -un; id -gn").split() == ["wrackline", "wrackline"]
    find = "find / -xdev -writable -not -type l -print 2>/dev/null || true"
    assert built.docker(*run, find).split() == ["/tmp", "/var/lib/wrackline"]  # noqa: S108 - in the container
    assert built.docker(*run, "touch /tmp/made /var/lib/wrackline/made; wrackline --help").lstrip()


@pytest.fixture
def up(composed: Composed) -> Iterator[Composed]:
    """All of it started; gone with its data at the end."""
    try:
        composed("up", "--build", "--detach")
        until(composed.healthy, "all are healthy")
        yield composed
    finally:
        composed("down", "--volumes")


class Rows:
    """The rows of `orders` in the source, by SQL that a service runs, and in the target."""

    def __init__(
        self, composed: Composed, sql: Callable[[str], str], table: str, spark: "SparkSession"
    ) -> None:
        self._composed, self._sql, self._table, self._spark = composed, sql, table, spark
        self._count = 0

    def insert(self) -> None:
        """Write one more row."""
        self._count += 1
        self._sql(f"INSERT INTO orders (customer, total) VALUES ('customer {self._count}', {self._count})")

    def source(self) -> list[str]:
        """Every customer in the database."""
        return sorted(self._sql("SELECT customer FROM orders").splitlines())

    def arrive(self, what: str) -> None:
        """Write a row, and wait until all that the database has is in the files of the lake."""
        self.insert()
        until(lambda: set(self.source()) <= self._written(), f"rows come {what}")

    def target(self) -> list[str]:
        """Every customer in the lake, as a reader sees it; the paths in it are those of the container."""
        warehouse = "--volume=wrackline_warehouse:/var/lib/wrackline"
        run = ["run", "--rm", warehouse, "--env=SPARK_LOCAL_DIRS=/tmp/spark"]
        read = [*run, "--entrypoint=/opt/wrackline/bin/python", "wrackline", "-c", READ, self._table]
        found = self._composed.engine.docker(*read).splitlines()
        return sorted(line.removeprefix("row ") for line in found if line.startswith("row "))

    def _written(self) -> set[str]:
        """Every customer in a file, whether the table has it or not; a file may be half written."""
        data = self._composed.warehouse() / "warehouse" / self._table / "data"
        if not list(data.rglob("*.parquet")):
            return set()
        half = {"ignoreCorruptFiles": "true", "ignoreMissingFiles": "true", "recursiveFileLookup": "true"}
        schema = "customer string"
        rows = self._spark.read.options(**half).schema(schema).parquet(str(data)).distinct().collect()
        return {row.customer for row in rows}


@pytest.fixture
def postgres_rows(up: Composed, spark: "SparkSession") -> Rows:
    """The rows in PostgreSQL."""
    client = ["exec", "-T", "postgres", "psql", "-qAt", "-U", "postgres", "shop", "-c"]
    return Rows(up, lambda statement: up(*client, statement), "public/orders", spark)


def silent(up: Composed) -> list[str]:
    """Name what the dashboards ask and Prometheus knows nothing of, but what no good pipeline serves."""
    found = []
    for expression in (one for path in DASHBOARDS for one in asked(dashboard(path))):
        bare = re.sub(r"^label_values\((.*), \w+\)$", r"\1", expression)
        chosen = VARIABLE.sub(lambda name: CHOSEN.get(name[0], ".*"), bare)
        if not UNSERVED.search(chosen) and not up.figures(chosen):
            found.append(chosen)
    return found


def test_nothing_is_lost_when_containers_are_killed_and_all_is_taken_down(
    up: Composed, postgres_rows: Rows
) -> None:
    token = up.secrets["WRACKLINE_REST_TOKEN"]
    postgres_rows.arrive("at all")
    until(lambda: len(up.figures("up == 1")) == 2, "Prometheus scrapes both halves")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        up.rest("/connectors")
    assert up.rest("/connectors", token) == ["shop"]
    assert [task["state"] for task in up.rest("/connectors/shop/status", token)["tasks"]] == ["RUNNING"]
    postgres_rows.arrive("while nothing is wrong")
    unserved = set(silent(up))
    profiles = {"", up.secrets["COMPOSE_PROFILES"]}
    started = [name for name, one in services().items() if profiles & set(one.get("profiles", [""]))]
    for service in started:
        if service != "registry-volume":  # it has ended, with its work done
            up.kill(service)
            postgres_rows.arrive(f"after {service} was killed")
    assert postgres_rows.target() == postgres_rows.source()
    # a task that is started again does not count the rows of the first read
    assert unserved.intersection(silent(up)) == set()
    up("down")
    up("up", "--detach")
    until(up.healthy, "all are healthy again")
    postgres_rows.arrive("after all was taken down")
    assert postgres_rows.target() == postgres_rows.source()
    assert up.figures("count_over_time(up[1h]) > 4"), "Prometheus has forgotten"


def test_mysql_has_a_pipeline_too(composed: Composed, spark: "SparkSession") -> None:
    composed.choose(COMPOSE_PROFILES="mysql", WRACKLINE_PIPELINE="./deploy/mysql.toml")
    client = 'MYSQL_PWD=$MYSQL_ROOT_PASSWORD exec mysql -N -B -u root shop -e "$1"'
    run = ["exec", "-T", "mysql", "sh", "-c", client, "sh"]
    rows = Rows(composed, lambda statement: composed(*run, statement), "shop/orders", spark)
    try:
        composed("up", "--detach")
        until(composed.healthy, "all are healthy")
        rows.arrive("at all")
        composed.kill("mysql")
        rows.arrive("after mysql was killed")
        composed("down")
        composed("up", "--detach")
        rows.arrive("after all was taken down")
        assert rows.target() == rows.source()
    finally:
        composed("down", "--volumes")


def test_the_local_stack_s_servers_run_in_containers_and_keep_what_they_have(composed: Composed) -> None:
    environment = {
        **composed.engine.environment,
        "WRACKLINE_STACK": "docker",
        "TESTCONTAINERS_RYUK_DISABLED": "true",  # its image is not here; the engine is thrown away as a whole
    }
    tests = ["tests/integration/stack/test_servers.py", "--deep", "--postgres=17", "-k", "keeps"]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *tests]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1500, check=False
    )
    assert ended.returncode == 0, ended.stdout[-6000:]
    assert "5 passed" in ended.stdout
