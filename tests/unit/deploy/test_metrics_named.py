"""Alerts and dashboards ask for nothing that our code does not serve."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from tests.unit.deploy.files import DASHBOARDS, alerts, asked, dashboard, exported, read, strangers
from wrackline.control.cli.command_line import app

PIPELINE, TASK, TABLE, SNAPSHOT = "pipeline", "task", "table", "snapshot"
NAMED_LABEL = re.compile(r"\$labels\.(\w+)")


def test_the_names_come_from_the_code() -> None:
    found = exported()
    assert "table" in found["wrackline_events_total"]
    assert "wrackline_commit_seconds_bucket" in found
    assert "wrackline_commit_seconds" not in found


@pytest.mark.parametrize(
    ("expression", "strange"),
    [
        ('sum(wrackline_events_totals{server="a"})', ["wrackline_events_totals"]),
        ('wrackline_lag_bytes{topic="a"}', ["wrackline_lag_bytes.topic"]),
        ("sum by (tables) (wrackline_consume_behind_seconds)", ["tables"]),
        ("rate(wrackline_commit_seconds[5m])", ["wrackline_commit_seconds"]),
        ('sum by (le) (rate(wrackline_commit_seconds_bucket{server=~"$server"}[5m]))', []),
    ],
)
def test_a_strange_name_is_seen(expression: str, strange: list[str]) -> None:
    assert strangers(expression) == strange


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_queries_only_served_metrics_and_says_what_to_do(alert: dict[str, object]) -> None:
    expression, said = str(alert["expr"]), alert["annotations"]
    assert isinstance(said, dict)
    assert strangers(expression) == []
    assert set(said) == {"summary", "description", "command"}
    assert alert["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    program, verb, *_ = said["command"].split()
    known = get_command(app).commands  # type: ignore[attr-defined]  # typer's command is a group
    assert program in {"docker", "promtool"} or (program == "wrackline" and verb in known)
    served = {label for name, labels in exported().items() if name in expression for label in labels}
    assert set(NAMED_LABEL.findall(" ".join(said.values()))) <= served


def test_no_two_alerts_have_one_name_and_each_is_tried() -> None:
    names = [alert["alert"] for alert in alerts()]
    assert len(set(names)) == len(names)
    tried = str(read("deploy/prometheus/alerts_test.yml"))
    assert [name for name in names if name not in tried] == []


@pytest.mark.parametrize(
    "about",
    [
        "wrackline_lag_milliseconds",
        "wrackline_slot_retained_bytes",
        "wrackline_slot_seconds_until_lost",
        "wrackline_consume_retained_ratio",
        "wrackline_running",
        'standing="stopped"',
        "wrackline_consume_dead_letters_total",
        'up{job="wrackline-run"}',
        'up{job="wrackline-consume"}',
    ],
)
def test_there_is_an_alert_about(about: str) -> None:
    assert any(about in alert["expr"] for alert in alerts())


def test_there_are_four_dashboards() -> None:
    assert {path.stem for path in DASHBOARDS} == {PIPELINE, TASK, TABLE, SNAPSHOT}
    boards = [dashboard(path) for path in DASHBOARDS]
    assert len({board["uid"] for board in boards} | {board["title"] for board in boards}) == 2 * len(boards)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_queries_only_served_metrics(path: Path) -> None:
    expressions = list(asked(dashboard(path)))
    assert len(expressions) > 10
    assert {one: strange for one in expressions if (strange := strangers(one))} == {}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_whole(path: Path) -> None:
    board = dashboard(path)
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    variables = {variable["name"] for variable in board["templating"]["list"]}
    assert {"datasource", "server", "task", "database"} <= variables
    used = set(re.findall(r"\$\{?(\w+)\}?", " ".join(asked(board)))) - {"__rate_interval"}
    assert used <= variables
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["targets"]
            assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_no_two_panels_lie_on_each_other(path: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard(path)["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_metric_of_ours_is_on_a_dashboard() -> None:
    shown = " ".join(one for path in DASHBOARDS for one in asked(dashboard(path)))
    ours = [name for name in exported() if name.startswith("wrackline")]
    assert [name for name in ours if name not in shown and not name.endswith(("_sum", "_count"))] == []


def test_the_ports_that_prometheus_asks_are_the_pipeline_s() -> None:
    jobs = read("deploy/prometheus/prometheus.yml")["scrape_configs"]
    asked_for = {job["job_name"]: job["static_configs"][0]["targets"] for job in jobs}
    assert asked_for == {"wrackline-run": ["127.0.0.1:9401"], "wrackline-consume": ["127.0.0.1:9402"]}
