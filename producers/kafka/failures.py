"""What an error of the Kafka client means, and whether an operator must act.

Almost every error has the same answer: a new producer, and the start order again.  A short table lists the
errors that need an operator, because another try would fail in the same way.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from wrackline.schemas.errors import Definite, ErrorCode, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.login_errors import LOGIN_REFUSED

TRANSACTION_FAILED = define(
    "kafka.transaction_failed",
    Transient,
    "Kafka did not accept a transaction of {who}: {name}",
    hint="readers with read_committed see none of it; it is repeated from the last committed position",
)
UNREACHABLE = define(
    "kafka.unreachable",
    Transient,
    "Kafka did not answer {who} within {seconds} s",
    hint="check whether the brokers of kafka.bootstrap.servers run and can be reached from here",
    connects=True,
)
SLOW_COMMIT = define(
    "kafka.slow_commit",
    Transient,
    "a commit of {who} may have been sent twice; the producer is replaced by a new one",
    hint="nothing is lost; if this happens often, check the brokers' load, or raise kafka.retry.backoff.ms",
)
DENIED = define(
    "kafka.denied",
    OperatorNeeded,
    "Kafka rejects {who}: {name}",
    hint="check kafka.sasl.*, and the rights on the topics and the transactional id: "
    "kafka-acls --bootstrap-server <brokers> --add --producer --transactional-id '{who}' --topic '*'"
    " --allow-principal User:<user>",
    connects=True,
)
TOO_LARGE = define(
    "kafka.record_refused",
    OperatorNeeded,
    "Kafka rejects a record of topic {topic} as too large",
    hint="raise the topic's limit: kafka-configs --bootstrap-server <brokers> --alter --entity-type topics"
    " --entity-name '{topic}' --add-config max.message.bytes=<bytes>; then read the table again:"
    " wrackline snapshot start <pipeline.toml> '<table>'",
)
TOPIC_GONE = define(
    "kafka.topic_gone",
    Definite,
    "topic {topic}, to which this task has written, no longer exists",
    hint="Wrackline does not create it again; to fill a new one: wrackline snapshot start"
    " <pipeline.toml> '<table>'",
)
SUPERSEDED = define(
    "kafka.superseded",
    Definite,
    "{who} has a newer owner (generation {newest}, this is {generation})",
    hint="the pipeline now runs elsewhere, or its offsets were edited, so this process ends; to see which"
    " process reads the log: wrackline offsets show <pipeline.toml>",
)

_DENIED: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    }
)
_NOT_LET_IN: Final = frozenset(
    {
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - the client's own names of its local errors
    }
)
_NO_ANSWER: Final = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001 - the same
        KafkaError._TIMED_OUT,  # noqa: SLF001 - the same
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - the same
        KafkaError._RESOLVE,  # noqa: SLF001 - the same
    }
)
_OF_A_TOPIC: Final[Mapping[int, ErrorCode]] = MappingProxyType(
    {
        KafkaError.MSG_SIZE_TOO_LARGE: TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE: TOO_LARGE,
        KafkaError.UNKNOWN_TOPIC_OR_PART: TOPIC_GONE,
        KafkaError._UNKNOWN_TOPIC: TOPIC_GONE,  # noqa: SLF001 - the same
    }
)


class TopicRefusedError(Exception):
    """Kafka takes nothing more for one topic; the others are not affected."""

    def __init__(self, topic: str, error: WracklineError) -> None:
        super().__init__(topic, error)
        self.topic, self.error = topic, error


def denies(error: KafkaError) -> bool:
    """Return whether it will be refused again until an operator changes rights."""
    return error.code() in _DENIED | _NOT_LET_IN


def meaning(error: KafkaError, who: str, topic: str | None = None) -> WracklineError:
    """Say in our words what happened; a broker's own text may hold a secret, so it is left out."""
    if error.code() in _NOT_LET_IN:
        return LOGIN_REFUSED(who=who, reason=error.name())
    if denies(error):
        return DENIED(who=who, name=error.name())
    code = _OF_A_TOPIC.get(error.code())
    if code is not None and topic is not None:
        return code(topic=topic)
    return TRANSACTION_FAILED(who=who, name=error.name())


def of_exception(error: BaseException, who: str, topic: str | None = None) -> WracklineError:
    """Do the same for what a call raised."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return meaning(error.args[0], who, topic)
    return TRANSACTION_FAILED(who=who, name=type(error).__name__)


def of_request(error: KafkaException, topic: str | None = None, *, seconds: float) -> WracklineError:
    """Translate an error of a request of the admin client, which has waited so many seconds at most."""
    if error.args[0].code() in _NO_ANSWER:
        return UNREACHABLE(who="the admin client", seconds=f"{seconds:g}")
    return of_exception(error, "the admin client", topic)
