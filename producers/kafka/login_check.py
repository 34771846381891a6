"""Checks whether Kafka lets us in, before anything is begun there, and after an error that may say less.

    settings -> a client of its own -> the id of the cluster, or the reason why there is none

librdkafka tries again without end whatever the broker says; schemas/kafka/login_errors.py keeps what it says.
"""

from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import UNREACHABLE
from wrackline.schemas.kafka.login_errors import CLIENT_REFUSED, LoginErrors

PATIENCE: Final = 10.0  # seconds for an answer
_SURE: Final = 1.0  # seconds after a refusal, in which another broker may still let us in
_TRY: Final = 0.25


def check_login(client: Client, clock: Callable[[], float], patience: float = PATIENCE) -> str:
    """Return the cluster's id when a broker answers; raise the reason why none does."""
    heard = LoginErrors(str(client.given.get("security.protocol", "plaintext")), client.redactor.clean)
    settings = {**client.admin(), "error_cb": heard.error, "logger": heard}
    try:
        admin = AdminClient(settings)
    except KafkaException as exc:
        reason = client.redactor.clean(exc.args[0].str())
    else:
        return _wait(admin, heard, client, clock, patience)
    raise CLIENT_REFUSED(reason=reason)  # out here, so that frames that know the secrets go


def _wait(
    admin: AdminClient, heard: LoginErrors, client: Client, clock: Callable[[], float], patience: float
) -> str:
    deadline, refused = clock() + patience, None
    while True:
        try:
            cluster: object = admin.list_topics(timeout=_TRY).cluster_id  # its stub says None
        except KafkaException:
            admin.poll(0)
        else:
            return str(cluster)
        now = clock()
        if heard.refusal is not None:
            refused = refused or now
            if now - refused >= _SURE:
                raise heard.refusal
        if now > deadline:
            raise heard.refusal or UNREACHABLE(
                who=f"at {client.given['bootstrap.servers']}", seconds=patience
            )
