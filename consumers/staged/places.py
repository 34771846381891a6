"""Where a table's parts are: the view of readers, and the tables of ours behind it.

    public.orders                               the view
    wrackline.public__orders                    the table
    wrackline._wl_state__public__orders         what is kept about it
    wrackline._wl_stage__public__orders__…      a batch on its way
    wrackline._wl_dead_letters                  letters of all tables

The storage is another schema, so that a right to read the view shows none of it.  Our own tables begin as no
table of a source does.  Two tables that get one storage are refused by what is kept about the first.  Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

from wrackline.consumers.contract import letters
from wrackline.consumers.contract.identifiers import Identifiers, suffixed_names, target_name
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_STATE, _STAGE = "_wl_state__", "_wl_stage__"
_MARK = 34  # characters of a stage's mark: two and a number of 128 bits


class StagedRelation(NamedTuple):
    """The names of one table or view, without quotes."""

    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class StagedPlace:
    """One table's names in the service."""

    view: StagedRelation
    table: StagedRelation
    state: StagedRelation
    identifiers: Identifiers

    def stage(self, mark: str) -> StagedRelation:
        """Name a batch's stage; the mark distinguishes it from every other one."""
        return self.table._replace(name=next(suffixed_names(self._stages, mark, self.identifiers)))

    def has_stage(self, name: str) -> bool:
        """Whether a table of the storage is a stage of this table."""
        return name == self.stage(name[-_MARK:]).name

    def strangers(self, there: Mapping[StagedRelation, bool]) -> Iterator[StagedRelation]:
        """Return the names that something else has, of what is there in its schemas: whether it is a view."""
        ours = self.state in there  # it is made first
        for relation, is_view in ((self.table, False), (self.view, True)):
            if relation in there and not (ours and there[relation] is is_view):
                yield relation

    @property
    def _stages(self) -> str:
        return _STAGE + self.table.name


@dataclass(frozen=True, slots=True)
class StagedLayout:
    """How names are made: the settings' part of it, and which names the service allows."""

    schema: str  # a template
    storage_schema: str
    identifiers: Identifiers

    def place(self, table: TableId) -> StagedPlace:
        """Return a table's names; the same for the same table, always."""
        schema = self._name(self.schema.format(database=table.database, schema=table.schema))
        storage = f"{schema}__{table.name}"
        return StagedPlace(
            StagedRelation(schema, self._name(table.name)),
            self._stored(storage),
            self._stored(_STATE + storage),
            self.identifiers,
        )

    @property
    def letters(self) -> StagedRelation:
        """The table of dead letters."""
        return self._stored(letters.NAME)

    @property
    def stages(self) -> StagedRelation:
        """How the names of all stages begin."""
        return self._stored(_STAGE)

    def _stored(self, name: str) -> StagedRelation:
        return StagedRelation(self._name(self.storage_schema), self._name(name))

    def _name(self, name: str) -> str:
        return target_name(name, self.identifiers)


def read_layout(settings: Values, identifiers: Identifiers) -> StagedLayout:
    """Take what the settings of `place_settings` say."""
    return StagedLayout(settings.text("target.schema"), settings.text("target.storage.schema"), identifiers)


def new_mark() -> str:
    """Return what distinguishes a stage from every other one."""
    return f"__{uuid4().hex}"
