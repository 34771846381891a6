"""The file of a group of workers: its name, and what its connectors have in common.

    group.id = "prod"
    [kafka]
    bootstrap.servers = "broker1:9092"
    [schema.registry]
    url = "http://registry:8081"

In: a TOML file.  Out: the group, or all faults of the file.  The settings of Kafka and the registry apply to
every connector that does not set its own; the group's own topics are in that Kafka.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from wrackline.control.runtime.check.file_check import Checked, problem_finding
from wrackline.producers.kafka.client import Client
from wrackline.schemas.pipelines.pipeline import parse, read_file
from wrackline.schemas.settings import host_policy
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.declared.kafka_client_settings import AT_MOST_OF_MEMBERS, MEMBER
from wrackline.schemas.settings.host_policy import hosts_in
from wrackline.schemas.settings.secret_refs import WIDENING, Allowed, Resolver
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.settings.value_kinds import SettingKind, each, matching, one_of

_GROUP: Final = "Group"
_SHARED: Final = ("kafka.", "schema.registry.")
_SAYS_WHERE: Final = {
    "kafka.": re.compile(r"kafka\.(bootstrap|security|sasl|ssl|enable\.ssl)"),
    "schema.registry.": re.compile(r"schema\.registry\.(url|basic|ssl)"),
}
_MOST_RECORD: Final = 4 << 20

_OWN = (
    Setting(
        "group.id",
        SettingKind.STRING,
        "The group's name: workers of the same one share its connectors, and its topics begin with it.",
        None,
        Importance.HIGH,
        _GROUP,
        required=True,
        validator=matching(
            r"(?!\.{1,2}$|wrackline-)[A-Za-z0-9._-]{1,100}",
            "1 to 100 letters, digits, dots, _ or -, and not as a pipeline's own topics begin: wrackline-",
        ),
    ),
    Setting(
        "spark.allow",
        SettingKind.LIST,
        "Names of settings that connectors may hand to Spark, Hadoop or Iceberg, beside sizes, counts, times"
        " and switches: spark.*, target.storage.*, target.catalog.*; * stands for anything. Some of them run"
        " programs, so who may write connectors may then do on the workers what the workers may.",
        None,
        Importance.LOW,
        _GROUP,
        validator=each(
            matching(
                r"(spark|target\.storage|target\.catalog)\.\S+",
                "names that begin with spark., target.storage. or target.catalog.",
            )
        ),
    ),
    Setting(
        "hosts.allow",
        SettingKind.LIST,
        "The hosts that connectors may name for databases, Kafka, registries, catalogues, storage and"
        " lineage: names, as db.example.com or *.example.com, addresses, and networks, as 10.1.0.0/16; *"
        " alone covers every name, and no address. The hosts that this file names itself are allowed too."
        " Without the list connectors may name any host that the workers reach.",
        None,
        Importance.MEDIUM,
        _GROUP,
        validator=each(host_policy.entry_fault),
    ),
    Setting(
        "rest.drafts.secrets",
        SettingKind.STRING,
        "Whether drafts of pipelines may contain secrets themselves. refuse: only references to secrets are"
        " taken. allow: whoever may read the group's topic of configurations then reads them.",
        "refuse",
        Importance.LOW,
        _GROUP,
        validator=one_of("refuse", "allow"),
    ),
    Setting(
        "lineage.allow.folders",
        SettingKind.LIST,
        "Folders in which connectors may have a lineage.file written. Without it they may name none.",
        None,
        Importance.LOW,
        _GROUP,
        validator=each(matching(r"/.*", "whole paths")),
    ),
)

_TAKEN = tuple(one for one in CORE.settings if one.name.startswith(_SHARED) or one.name in WIDENING)
_NAMES = frozenset(one.name for one in _TAKEN)
_OF_MEMBERS = frozenset(one.name for one in MEMBER)

GROUP = Declared(
    settings=(*_OWN, *_TAKEN, *MEMBER),
    at_most=(*AT_MOST_OF_MEMBERS, *(pair for pair in CORE.at_most if _NAMES.issuperset(pair))),
    needs=tuple(need for need in CORE.needs if {need.name, need.needed} <= _NAMES),
    not_honoured=tuple(
        entry
        for entry in CORE.not_honoured
        if entry.name.startswith(_SHARED) and entry.name not in _OF_MEMBERS
    ),
)


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """A group of workers, as its file describes it."""

    id: str
    defaults: Mapping[str, str] = field(repr=False)  # what a connector gets unless it sets its own
    client: Client = field(repr=False)
    allowed: Allowed
    typed_secrets: bool = False  # whether drafts may contain secrets themselves

    def whole(self, config: Mapping[str, str]) -> Mapping[str, str]:
        """Return a connector's settings with the group's below them.

        A connector that says where Kafka or the registry is, or our login there, gets none of the group's
        settings for it: the group's password would go to any host that the connector names.
        """
        own = {shared for shared, says in _SAYS_WHERE.items() if any(says.match(name) for name in config)}
        added = {name: text for name, text in self.defaults.items() if not name.startswith(tuple(own))}
        return {**added, **config}


def load_group(path: Path, environ: Mapping[str, str]) -> WorkerGroup | Checked:
    """Read a group's file; return its findings, if it can't be used."""
    given, faults = parse(read_file(path), str(path))
    allowed = Allowed.from_environment(environ).widened_by(given)
    reading = SettingsRegistry(GROUP).read(given, Resolver(allowed, environ))
    values = reading.values
    if faults or values is None:
        ordered = sorted((*faults, *reading.problems), key=lambda problem: problem.warning)
        return Checked(tuple(map(problem_finding, ordered)))
    addresses = [text for one in _TAKEN if one.host for text in _texts(values, one.name)]
    own_hosts = [host for text in addresses for host in hosts_in(text)]
    return WorkerGroup(
        values.text("group.id"),
        {n: text for n, text in given.items() if n.startswith(_SHARED) and n not in _OF_MEMBERS},
        Client(values.below("kafka."), _MOST_RECORD),
        replace(
            allowed,
            handed_on=_texts(values, "spark.allow"),
            hosts=None if values["hosts.allow"] is None else (*_texts(values, "hosts.allow"), *own_hosts),
            written=tuple(map(Path, _texts(values, "lineage.allow.folders"))),
        ),
        values.text("rest.drafts.secrets") == "allow",
    )


def _texts(values: Values, name: str) -> tuple[str, ...]:
    """Return a text or a list of texts; none if it is not given."""
    value = values[name]
    return value if isinstance(value, tuple) else () if value is None else (str(value),)
