"""A pipeline's settings with a Redshift target, as its file gives them."""

from wrackline.consumers.targets.redshift.config import SETTINGS
from wrackline.schemas.settings.declared.core_settings import FEEDS
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry, Values

GIVEN = {
    "name": "shop",
    "kafka.bootstrap.servers": "k:9092",
    "target.hostname": "shop.abc123.eu-west-1.redshift.amazonaws.com",
    "target.user": "wrackline",
    "target.dbname": "dev",
    "target.stage": "s3://shop-stage/batches/",
}


def checked(**more: str) -> CheckedSettings:
    named = {f"target.{name}": value for name, value in more.items()}
    return SettingsRegistry(FEEDS, SETTINGS).read({**GIVEN, **named}, Resolver(Allowed(), {}))


def values(**more: str) -> Values:
    found = checked(**more)
    assert found.values is not None, found.problems
    return found.values
