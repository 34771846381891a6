"""The client's database, as the settings want it: which one, and whose credentials."""

from typing import Final

from google.cloud.spanner_v1.client import Client

from wrackline.consumers.targets.google_account import credentials
from wrackline.consumers.targets.spanner.refusals import spanner_error
from wrackline.consumers.targets.spanner.session import SpannerSession
from wrackline.schemas.settings.settings_registry import Values

_SCOPES: Final = (
    "https://www.googleapis.com/auth/spanner.admin",
    "https://www.googleapis.com/auth/spanner.data",
)


def open_session(settings: Values) -> SpannerSession:
    """Open a session whose first question was answered, so that wrong settings are found at once."""
    instance, name = settings.text("target.instance"), settings.text("target.dbname")
    try:
        endpoint = settings.get("target.endpoint")
        at = None if endpoint is None else {"api_endpoint": str(endpoint).partition("//")[2]}
        client = Client(
            project=settings.text("target.project"),
            credentials=credentials(settings, _SCOPES),
            client_options=at,
            disable_builtin_metrics=True,
        )
        database = client.instance(instance).database(name)
        session = SpannerSession(client, database, settings.integer("target.lock.timeout.ms") / 1000)
        session.ask("SELECT 1")
    except Exception as exc:
        refusal = spanner_error(exc, doing="the first question", place=f"{instance}/{name}")
        if refusal is None:
            raise
        raise refusal from None  # the driver's own error may show what it was given
    return session
