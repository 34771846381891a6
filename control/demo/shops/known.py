"""The sources that the demo knows, by the names of their folders."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from wrackline.control.demo.shops.mariadb import MariadbShop
from wrackline.control.demo.shops.postgres import PostgresShop
from wrackline.control.demo.shops.shop import Shop
from wrackline.schemas.settings import Values


class Kind(StrEnum):
    """What `--source` takes."""

    POSTGRES = PostgresShop.kind
    MARIADB = MariadbShop.kind


SHOPS: Mapping[Kind, type[Shop]] = MappingProxyType({Kind.POSTGRES: PostgresShop, Kind.MARIADB: MariadbShop})


def shop_of(values: Values) -> Shop:
    """Return the shop that a pipeline reads."""
    return SHOPS[Kind(values.text("connector.class"))].of(values)
