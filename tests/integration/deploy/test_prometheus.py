"""A real Prometheus takes our files, reads a real page of ours, and an alert fires."""

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.deploy.files import DASHBOARDS, DEPLOY, asked, dashboard
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.metrics import families
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.runtime.ground.scrape_port import METRICS, metrics_page, serve_pages
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.tables.table import SourcePartition

PARTITION = SourcePartition("shop1", "shop")
ORDERS = "shop1.shop.public.orders"
STOPPED = define("test.deploy_stopped", Definite, "the table can't go on", hint="none")
PATIENCE = 60.0  # seconds
STANDS_FOR = {
    "$__rate_interval": "1m",
    "$server": "shop1",
    "$task": "0",
    "$database": "shop",
    "$table": "public[.]orders",
}
pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")

VARIABLE = re.compile(r"\$\w+")


def run(*command: str | Path) -> None:
    ended = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_takes_the_files() -> None:
    run("promtool", "check", "config", DEPLOY / "prometheus/prometheus.yml")
    run("promtool", "check", "rules", DEPLOY / "prometheus/alerts.yml")


def test_alerts_fire_when_they_should_and_not_else() -> None:
    """T-P26."""
    run("promtool", "test", "rules", DEPLOY / "prometheus/alerts_test.yml")


def test_an_alert_that_never_fires_is_seen(tmp_path: Path) -> None:
    for name in ("alerts.yml", "alerts_test.yml"):
        shutil.copy(DEPLOY / "prometheus" / name, tmp_path)
    broken = (tmp_path / "alerts.yml").read_text().replace('standing="stopped"', 'standing="halted"')
    (tmp_path / "alerts.yml").write_text(broken)
    with pytest.raises(AssertionError, match="WracklineTableStopped"):
        run("promtool", "test", "rules", tmp_path / "alerts_test.yml")


class Watcher:
    """A Prometheus with our configuration, which asks every second."""

    def __init__(self, folder: Path, run_port: int, consume_port: int) -> None:
        self.port = choose(folder, "prometheus")["prometheus"]
        shutil.copytree(DEPLOY / "prometheus", folder / "config")
        config = folder / "config/prometheus.yml"
        text = config.read_text()
        for ours, here in ((9401, run_port), (9402, consume_port)):
            assert text.count(f"127.0.0.1:{ours}") == 1
            text = text.replace(f"127.0.0.1:{ours}", f"127.0.0.1:{here}")
        config.write_text(re.sub(r"_interval: 15s", "_interval: 1s", text))
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
        command.append(f"--web.listen-address=127.0.0.1:{self.port}")
        program = Program("prometheus", command, folder, [self.port], self._ready)
        self.process = Process(program)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def asked(self, path: str, **arguments: str) -> Any:
        """Return what its interface answers."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def values(self, expression: str) -> list[Any]:
        """Return what an expression gives now."""
        found = self.asked("query", query=expression)["result"]
        assert isinstance(found, list)
        return found

    def firing(self) -> dict[str, Any]:
        """Return the alerts that fire, by name."""
        alerts = self.asked("alerts")["alerts"]
        return {alert["labels"]["alertname"]: alert for alert in alerts if alert["state"] == "firing"}


def until(held: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not held():
        assert time.monotonic() < ends, held
        time.sleep(0.2)


@pytest.fixture
def measures() -> TaskMeasures:
    made = TaskMeasures(
        0, "postgres", [PARTITION], 1000, monotonic=time.monotonic, now_ms=lambda: time.time_ns() // 10**6
    )
    made.health(Health.RUNNING, None)
    made.log_state(PARTITION, LogState("slot wrackline", None, 5000, 100, 200, None, "reserved"))
    return made


@pytest.fixture
def figures() -> ConsumerFigures:
    made = ConsumerFigures("shop1")
    made.take_ends({ORDERS: {0: 7}})
    return made


@pytest.fixture
def watcher(tmp_path: Path, measures: TaskMeasures, figures: ConsumerFigures) -> Iterator[Watcher]:
    with ExitStack() as opened:
        source = {METRICS: metrics_page(measures.families)}
        target = {METRICS: metrics_page(partial(families, figures))}
        first = opened.enter_context(serve_pages(0, source, "metrics.port"))
        second = opened.enter_context(serve_pages(0, target, "consume.metrics.port"))
        made = Watcher(tmp_path, first, second)
        made.process.start()
        opened.callback(made.process.stop)
        yield made


def test_a_stopped_table_is_scraped_and_fires(watcher: Watcher, figures: ConsumerFigures) -> None:
    until(lambda: len(watcher.values("up == 1")) == 2)
    assert watcher.values("wrackline_slot_retained_bytes")[0]["value"][1] == "200"
    assert watcher.firing() == {}
    figures.stands(ORDERS, TableRetryState(STOPPED(), stopped=True))
    until(lambda: "WracklineTableStopped" in watcher.firing())
    said = watcher.firing()["WracklineTableStopped"]["annotations"]
    assert said["summary"] == "shop1: table shop.public.orders is stopped until the operator acts"
    assert said["command"] == "wrackline status <pipeline.toml> shop.public.orders"


def test_prometheus_takes_what_the_dashboards_ask(watcher: Watcher) -> None:
    for expression in (one for path in DASHBOARDS for one in asked(dashboard(path))):
        if not expression.startswith("label_values("):
            watcher.values(VARIABLE.sub(lambda found: STANDS_FOR[found[0]], expression))
