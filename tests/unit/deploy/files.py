"""The files below deploy/ and docker-compose.yml as values, and what their expressions name."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from wrackline.consumers.observe import metric_names as consumers
from wrackline.producers.observe import task_metric_names as producers
from wrackline.schemas.language.exposition import Metric, Type

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
OF_PROMETHEUS = frozenset({"job", "instance", "le"})
_OF_TASKS = frozenset({"server", "task", "database"})
_OF_ALIASES = frozenset({"plugin", "name", "task", "database", "context"})
_SELECTED = re.compile(r"\b(up|(?:wrackline|debezium)_\w+)\b(?:\{([^}]*)\})?")
_LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


def read(path: str) -> Any:
    """Read a YAML file of the repository."""
    return yaml.safe_load((ROOT / path).read_text())


def services() -> Mapping[str, Mapping[str, Any]]:
    """The services of docker-compose.yml, with what they inherit."""
    found: Mapping[str, Mapping[str, Any]] = read("docker-compose.yml")["services"]
    return found


def alerts() -> Sequence[Mapping[str, Any]]:
    """Every alert."""
    return [rule for group in read("deploy/prometheus/alerts.yml")["groups"] for rule in group["rules"]]


def dashboard(path: Path) -> Any:
    """Read a dashboard."""
    return json.loads(path.read_text())


def asked(board: Mapping[str, Any]) -> Iterator[str]:
    """Every expression that a dashboard sends to Prometheus, those of its variables too."""
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def exported() -> Mapping[str, frozenset[str]]:
    """Every series that our code serves, with the labels that it has."""
    found = {"up": OF_PROMETHEUS}
    for base, metrics in ((_OF_TASKS, producers.METRICS), (frozenset({"server"}), consumers.METRICS)):
        for metric in metrics:
            found |= dict.fromkeys(_series(metric), base | frozenset(metric.labels) | OF_PROMETHEUS)
    for alias in (
        *producers.ALIASES,
        producers.ACTIVE,
        producers.OLDEST,
        *producers.QUEUE_ALIASES,
        *producers.SNAPSHOT_ALIASES,
        producers.SCANNED,
    ):
        found[alias.name] = _OF_ALIASES | OF_PROMETHEUS
    found[producers.SCANNED.name] |= {"table"}
    return found


def _series(metric: Metric) -> list[str]:
    if metric.type is Type.HISTOGRAM:
        return [metric.name + suffix for suffix in ("_bucket", "_sum", "_count")]
    return [metric.name]


def strangers(expression: str) -> list[str]:
    """Name what an expression asks for and our code does not serve: series, and labels of series."""
    known, found = exported(), []
    bare = re.sub(r'(?<==~")[^"]*', "", expression)  # a pattern of names is not a name
    labels: set[str] = set()
    for name, matchers in _SELECTED.findall(bare):
        labels |= known.get(name, frozenset())
        if name not in known:
            found.append(name)
        else:
            found += [f"{name}.{label}" for label in _LABEL.findall(matchers) if label not in known[name]]
    for group in _GROUPED.findall(bare):
        found += [label for label in re.split(r",\s*", group) if label not in labels | {"alertname"}]
    return found
