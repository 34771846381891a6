"""A good pipeline's settings, which the cases spoil one at a time."""

from collections.abc import Mapping

from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

CANARY = "c4n4ry-hunter2"

GOOD = {
    "name": "shop",
    "topic.prefix": "shop1",
    "connector.class": "postgres",
    "database.hostname": "db.internal",
    "database.user": "wrackline",
    "database.password": CANARY,
    "database.dbname": "shop",
    "kafka.bootstrap.servers": "broker1:9092, broker2:9092",
    "schema.registry.url": "http://registry:8081",
    "snapshot.mode": "no_data",
}


def checked(given: Mapping[str, str], environ: Mapping[str, str] | None = None) -> Pipeline:
    return check(given, Installed(), Resolver(Allowed(), environ or {}))


def codes(pipeline: Pipeline) -> list[tuple[str, str]]:
    return [(problem.setting, problem.error.code) for problem in pipeline.problems]
