"""What can be set about a PostgreSQL target."""

from wrackline.consumers.contract.place_settings import place_settings
from wrackline.schemas.settings.declared.libpq_settings import GROUP, connection
from wrackline.schemas.settings.setting import Declared, Requirement

SETTINGS = Declared(
    settings=(
        *connection(
            "target",
            host="The target server's host name or address.",
            role="The role to log in as; it makes schemas, tables and views.",
            database="The database to write to.",
        ),
        *place_settings(GROUP, 63),
    ),
    needs=(
        Requirement("target.sslcert", "target.sslkey"),
        Requirement("target.sslkey", "target.sslcert"),
        Requirement("target.sslpassword", "target.sslkey"),
    ),
)
