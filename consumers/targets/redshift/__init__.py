"""Redshift: a batch is Parquet in S3, one COPY of a manifest, and one transaction that merges in parts.

config     what can be set
target     how it is opened; old files go with upkeep
connect    the driver's connections, by a password or by AWS
carrier    a batch to the store, by the driver or by executors
store      its files, their manifest, and their end
session    a conversation: statements, transactions, COPY
service    its catalogue, layout and refusals, for a staged target
types      what each kind of value is there
dialect    its SQL, as a value; how tables are laid out
limits     what it holds no value of, as data
check      findings: rights, places, what a pace costs
refusals   what an error of the server or of the store means
"""

from wrackline.consumers.contract.place_settings import storage_conf
from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.redshift import config
from wrackline.consumers.targets.redshift.dialect import IDENTIFIERS
from wrackline.consumers.targets.warehouse.plugin import WarehousePlugin
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.versions import HADOOP_AWS

__all__ = ["PLUGIN"]


class RedshiftPlugin(WarehousePlugin):
    """What this folder offers."""

    kind = "redshift"
    settings = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Return the file system for S3 with its settings, if executors are to write there."""
        if not config.executors_write(settings):
            return SparkNeeds()
        return SparkNeeds((HADOOP_AWS,), storage_conf(settings))

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table."""
        view = read_layout(settings, IDENTIFIERS).place(table).view
        host, port = settings.text("target.hostname"), settings.integer("target.port")
        endpoint = config.read_endpoint(host)
        place = host if endpoint is None else f"{endpoint.name}.{endpoint.region}"
        database = settings.text("target.dbname")
        return Located(f"redshift://{place}:{port}", f"{database}.{view.schema}.{view.name}")


PLUGIN = RedshiftPlugin()
