"""MariaDB under its own name: read by the folder beside this one, which asks the server what it is."""

from dataclasses import replace
from typing import Final

from wrackline.producers.sources import mysql

PLUGIN: Final = replace(
    mysql.PLUGIN,
    kind="mariadb",
    connector="mariadb",
    debezium_class="io.debezium.connector.mariadb.MariaDbConnector",
)
