"""MySQL and MariaDB: the binary log in rows, existing rows by binary results."""

from wrackline.producers.sources.mysql.source import PLUGIN

__all__ = ["PLUGIN"]
