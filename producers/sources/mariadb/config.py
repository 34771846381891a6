"""The settings of a MariaDB source: the same as those of MySQL."""

from wrackline.producers.sources.mysql.config import SETTINGS

__all__ = ["SETTINGS"]
