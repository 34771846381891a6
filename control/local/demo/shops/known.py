"""The sources that the demo knows, by the names of their folders."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from wrackline.control.local.demo.shops.mariadb import MariadbShop
from wrackline.control.local.demo.shops.postgres import PostgresShop
from wrackline.control.local.demo.shops.shop import Shop
from wrackline.control.local.demo.shops.standin import StandinShop
from wrackline.schemas.settings.settings_registry import Values


class ShopKind(StrEnum):
    """What `--source` takes."""

    POSTGRES = PostgresShop.kind
    MARIADB = MariadbShop.kind
    SQLSERVER = StandinShop.kind


SHOPS: Mapping[ShopKind, type[Shop]] = MappingProxyType(
    {
        ShopKind.POSTGRES: PostgresShop,
        ShopKind.MARIADB: MariadbShop,
        ShopKind.SQLSERVER: StandinShop,
    }
)


def shop_of(values: Values) -> Shop:
    """Return the shop that a pipeline reads."""
    return SHOPS[ShopKind(values.text("connector.class"))].of(values)
