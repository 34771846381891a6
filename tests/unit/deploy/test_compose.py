"""docker-compose.yml: nothing open, nothing writable, no secret, all watched; and what goes with it."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.unit.deploy.files import DEPLOY, ROOT, read, services
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack import registry
from wrackline.control.local.stack.servers import SchemaRegistry
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas import versions
from wrackline.schemas.pipelines.pipeline import load as load_pipeline

OURS = "wrackline"
ONE_SHOT = "registry-volume"
DATABASES = {"postgres", "mysql"}
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN", re.IGNORECASE)
CHOSEN = {  # the pipeline's file
    "type": "bind",
    "source": "${WRACKLINE_PIPELINE:-./deploy/pipeline.toml}",
    "target": "/etc/wrackline/pipeline.toml",
    "read_only": True,
}
REQUIRED = re.compile(r"\$\{\w+:\?[^}]+\}")
LEFT_OPEN = re.compile(r"\$\{\w+(?!\w*:\?)[^}]*\}|\$\w+")


Service = Mapping[str, Any]


def of_a_secret(name: str, value: object) -> bool:
    return SECRET.search(name) is None or REQUIRED.fullmatch(str(value)) is not None


def waits_for_health(service: Service) -> bool:
    needs = service.get("depends_on", {})
    return isinstance(needs, dict) and all(how["condition"] != "service_started" for how in needs.values())


def environment(service: Service) -> list[tuple[str, object]]:
    return list(service.get("environment", {}).items())


RULES: Mapping[str, Callable[[Service], bool]] = {
    "its root can't be written": lambda one: one.get("read_only") is True,
    "it has no capabilities": lambda one: (
        one.get("cap_drop") == ["ALL"] and not {"cap_add", "privileged"} & one.keys()
    ),
    "it gains no rights": lambda one: one.get("security_opt") == ["no-new-privileges:true"],
    "its memory has a limit": lambda one: "mem_limit" in one,
    "it is not root": lambda one: str(one.get("user", "1000")).partition(":")[0] not in {"0", "root"},
    "it is closed to others": lambda one: all(str(p).startswith("127.0.0.1:") for p in one.get("ports", ())),
    "it has not the host": lambda one: (
        one.get("network_mode") != "host" and "docker.sock" not in str(one.get("volumes"))
    ),
    "no secret has a default": lambda one: all(of_a_secret(*pair) for pair in environment(one)),
    "no variable may be missing": lambda one: not any(LEFT_OPEN.search(str(v)) for _, v in environment(one)),
    "it waits for health": waits_for_health,
}


def broken(service: Service) -> set[str]:
    """Name the rules that a service breaks."""
    return {rule for rule, holds in RULES.items() if not holds(service)}


@pytest.mark.parametrize("name", services())
def test_a_service_holds_the_rules(name: str) -> None:
    """A-SUPPLY-03."""
    assert broken(services()[name]) == set()


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("kafka", {"read_only": False}, "its root can't be written"),
        ("kafka", {"cap_drop": []}, "it has no capabilities"),
        ("kafka", {"cap_add": ["CHOWN"]}, "it has no capabilities"),
        ("grafana", {"security_opt": []}, "it gains no rights"),
        ("postgres", {"user": "0:0"}, "it is not root"),
        ("postgres", {"ports": ["5432:5432"]}, "it is closed to others"),
        ("worker", {"network_mode": "host"}, "it has not the host"),
        ("postgres", {"environment": {"POSTGRES_PASSWORD": "postgres"}}, "no secret has a default"),
        ("postgres", {"environment": {"POSTGRES_PASSWORD": "${PW:-pw}"}}, "no secret has a default"),
        ("postgres", {"environment": {"POSTGRES_DB": "${DB}"}}, "no variable may be missing"),
        ("worker", {"depends_on": ["kafka"]}, "it waits for health"),
        (
            "worker",
            {"depends_on": {"kafka": {"condition": "service_started"}}},
            "it waits for health",
        ),
    ],
)
def test_a_broken_rule_is_seen(name: str, change: dict[str, Any], rule: str) -> None:
    assert rule in broken({**deepcopy(services()[name]), **change})


def test_no_memory_limit_is_seen() -> None:
    bare = {name: value for name, value in services()["kafka"].items() if name != "mem_limit"}
    assert broken(bare) == {"its memory has a limit"}


def test_images_are_those_of_the_versions() -> None:
    known = {
        versions.KAFKA_IMAGE,
        versions.APICURIO_IMAGE,
        versions.MYSQL_IMAGE,
        versions.PROMETHEUS_IMAGE,
        versions.GRAFANA_IMAGE,
        *(versions.postgres_image(major) for major in versions.POSTGRES_VERSIONS),
    }
    named = {service["image"] for service in services().values()} - {OURS}
    assert named <= known
    assert len(named) == 6
    assert f"ARG PYTHON_IMAGE={versions.PYTHON_IMAGE}" in (DEPLOY / "Dockerfile").read_text()


def test_what_is_ours_is_built_here_and_the_rest_has_a_version() -> None:
    for name, service in services().items():
        if service["image"] == OURS:
            assert service["build"] == {
                "context": ".",
                "dockerfile": "deploy/Dockerfile",
                "args": {"WRACKLINE_COMMIT": "${WRACKLINE_COMMIT:-}"},
            }, name
        else:
            assert "build" not in service, name
            assert not service["image"].endswith(":latest"), name


def test_every_service_is_watched() -> None:
    for name, service in services().items():
        if name == ONE_SHOT:
            continue
        assert service["restart"] == "unless-stopped"
        ours = service["image"] == OURS and "WRACKLINE_HEALTH" in service.get("environment", ())
        assert ours or "healthcheck" in service


def test_a_profile_starts_its_database_and_the_pipeline_comes_with_it_or_by_itself() -> None:
    profiles = {name: set(service.get("profiles", ())) for name, service in services().items()}
    assert {name: profiles[name] for name in DATABASES} == {name: {name} for name in DATABASES}
    assert profiles["worker"] == profiles["consume"] == {"postgres", "mysql", "pipeline"}
    assert all(not profiles[name] for name in ("kafka", "registry", "prometheus", "grafana", "pod"))


def test_a_service_waits_for_what_is_always_there_or_may_be_missing() -> None:
    found = services()
    for name, service in found.items():
        for need, how in service.get("depends_on", {}).items():
            its = service.get("profiles", [""])
            always = set(its) <= set(found[need].get("profiles", its))
            assert always or how["required"] is False, f"{name} waits for {need}"
            wanted = "service_completed_successfully" if need == ONE_SHOT else "service_healthy"
            assert how["condition"] == wanted


def test_figures_are_served_and_read_in_one_network() -> None:
    found = services()
    assert {found[name]["network_mode"] for name in ("worker", "consume", "prometheus")} == {"service:pod"}
    assert not [name for name in ("worker", "consume", "prometheus") if "ports" in found[name]]
    assert "pod:9090" in (DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text()


def test_every_volume_and_mounted_file_is_there() -> None:
    named = read("docker-compose.yml")["volumes"]
    for service in services().values():
        for volume in service.get("volumes", ()):
            if volume == CHOSEN:
                continue
            source, _, rest = volume.partition(":")
            if source.startswith("./"):
                assert (ROOT / source).exists(), source
                assert rest.endswith(":ro"), volume
            else:
                assert source in named


def test_the_registry_remembers() -> None:
    url = services()["registry"]["environment"]["REGISTRY_DATASOURCE_URL"]
    folder = services()["registry"]["volumes"][0].partition(":")[2]
    assert url == registry.DATABASE.format(file=f"{folder}/registry")


def test_the_database_logs_what_is_read() -> None:
    assert "-cwal_level=logical" in services()["postgres"]["command"]


@pytest.mark.parametrize("file", ["pipeline.toml", "mysql.toml"])
def test_a_pipeline_is_good_and_says_the_same_as_the_compose_file(file: str) -> None:
    pipeline = load_pipeline(DEPLOY / file, Installed(), {"WRACKLINE_DB_PASSWORD": "s3cret"})
    assert pipeline.problems == ()
    assert pipeline.values is not None
    found = services()
    for name, setting in (("worker", "metrics.port"), ("consume", "consume.metrics.port")):
        port = pipeline.values.integer(setting)
        assert found[name]["environment"]["WRACKLINE_HEALTH"] == f"http://127.0.0.1:{port}/metrics"
        assert CHOSEN in found[name]["volumes"]
    mounted = [one for one in found["consume"]["volumes"] if one != CHOSEN]
    [folder] = [one.partition(":")[2] for one in mounted if one.startswith("warehouse:")]
    assert pipeline.values.text("target.warehouse").startswith(f"{folder}/")
    assert pipeline.values.text("database.hostname") in DATABASES
    assert pipeline.values.text("kafka.bootstrap.servers") == "kafka:9092"
    # as the local stack's registry is asked, whose program the image has too
    here = SchemaRegistry(Process(Program("registry", [], DEPLOY, [], bool)), 8080).url
    assert pipeline.values.get("schema.registry.url") == (here.replace("127.0.0.1", "registry"),)
    assert "registry" in found


def test_the_worker_is_asked_at_the_published_port_with_a_token() -> None:
    script = (DEPLOY / "worker.sh").read_text()
    [port] = re.findall(r"--rest-port (\d+)", script)
    [advertised] = re.findall(r"--rest-advertised (\S+)", script)
    assert f"{advertised}:{port}" in services()["pod"]["ports"]
    assert "WRACKLINE_REST_TOKEN" in services()["worker"]["environment"]


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/metrics" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def healthy(page: str | None) -> int:
    environment = {} if page is None else {"WRACKLINE_HEALTH": page}
    command = [sys.executable, str(DEPLOY / "healthy.py")]
    return subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False).returncode


def test_a_container_is_healthy_while_its_page_answers() -> None:
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        page = f"http://127.0.0.1:{server.server_port}"
        codes = [healthy(f"{page}/metrics"), healthy(f"{page}/ended"), healthy(None)]
        server.shutdown()
        thread.join()
    assert codes == [0, 1, 0]
    assert healthy(f"{page}/metrics") == 1


def make_env(top: Path) -> list[str]:
    """Copy the script to another folder, and return its command."""
    (top / "deploy").mkdir()
    for name in ("make-env.sh", "env.example"):
        (top / "deploy" / name).write_text((DEPLOY / name).read_text())
    return ["sh", str(top / "deploy/make-env.sh")]


def test_passwords_are_made_by_chance_and_never_over_older_ones(tmp_path: Path) -> None:
    command = make_env(tmp_path)
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    made = tmp_path / ".env"
    text = made.read_text()
    assert made.stat().st_mode & 0o777 == 0o600
    values = dict(line.split("=", 1) for line in text.splitlines() if re.match(r"\w+=", line))
    secrets = [value for name, value in values.items() if SECRET.search(name)]
    assert len(set(secrets)) == 5
    assert all(re.fullmatch("[0-9a-f]{48}", secret) for secret in secrets)
    asked = set(re.findall(r"\$\{(\w+):\?", (ROOT / "docker-compose.yml").read_text()))
    assert asked <= set(values)
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 1
    assert made.read_text() == text
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".env.")] == []


def test_an_older_env_gets_the_secrets_that_it_lacks(tmp_path: Path) -> None:
    command = make_env(tmp_path)
    kept = "COMPOSE_PROFILES=mysql\nexport POSTGRES_PASSWORD=a\nWRACKLINE_DB_PASSWORD=\nMYSQL_ROOT_PASSWORD=b"
    (tmp_path / ".env").write_text(kept)
    ran = subprocess.run(command, capture_output=True, timeout=60, check=True, text=True)
    text = (tmp_path / ".env").read_text()
    assert text.startswith(kept + "\n")
    added = dict(line.split("=", 1) for line in text.removeprefix(kept).split())
    assert list(added) == ["WRACKLINE_DB_PASSWORD", "WRACKLINE_REST_TOKEN", "GRAFANA_ADMIN_PASSWORD"]
    assert all(re.fullmatch("[0-9a-f]{48}", secret) for secret in added.values())
    assert all(name in ran.stderr for name in added)
    assert not any(secret in ran.stdout + ran.stderr for secret in added.values())
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 1
    assert (tmp_path / ".env").read_text() == text
