"""What can be set about a MariaDB source: the same as about MySQL."""

from wrackline.producers.sources.mysql.config import SETTINGS

__all__ = ["SETTINGS"]
