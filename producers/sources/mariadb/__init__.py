"""MariaDB under its own name: the `mysql` folder reads it, and asks the server what it is.

In: settings.  Out: the plug-in of `mysql`, under this name.
"""

from dataclasses import replace
from typing import Final

from wrackline.producers.sources import mysql

PLUGIN: Final = replace(
    mysql.PLUGIN,
    kind="mariadb",
    connector="mariadb",
)
