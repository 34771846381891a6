"""The client, as the settings want it: project, location, address, and whose credentials."""

from typing import Final

from google.api_core.client_options import ClientOptions
from google.cloud.bigquery import Client, QueryJobConfig

from wrackline.consumers.targets.bigquery.refusals import bigquery_error
from wrackline.consumers.targets.bigquery.session import CALL_S, RETRY
from wrackline.consumers.targets.google_account import credentials
from wrackline.schemas.settings.settings_registry import Values

_SCOPES: Final = ("https://www.googleapis.com/auth/bigquery",)


def open_client(settings: Values) -> Client:
    """Make a client whose first call was answered, so that wrong settings are found at once."""
    project, client = settings.text("target.project"), None
    try:
        client = Client(
            project=project,
            credentials=credentials(settings, _SCOPES),
            location=settings.text("target.location"),
            client_options=ClientOptions(api_endpoint=_endpoint(settings)),
        )
        dry = QueryJobConfig(dry_run=True)
        client.query("SELECT 1", job_config=dry, retry=RETRY, timeout=CALL_S, job_retry=None)
    except Exception as exc:
        if client is not None:
            client.close()  # type: ignore[no-untyped-call]
        refusal = bigquery_error(exc, doing="the first call", place=project, project=project)
        if refusal is None:
            raise
        raise refusal from None  # the driver's own error may show what it was given
    return client


def _endpoint(settings: Values) -> str | None:
    return settings.text("target.endpoint") if settings.get("target.endpoint") else None
