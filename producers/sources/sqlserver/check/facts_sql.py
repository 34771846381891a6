"""The statements of the preflight; whoever may not run one of them gets no answer, and no finding.  Pure."""

from typing import Final

from wrackline.producers.sources.sqlserver.connect.quoting import system_name

AGENT: Final = (
    "SELECT servicename, status_desc FROM sys.dm_server_services WHERE servicename LIKE N'SQL Server Agent%';"
)
REPLICATED_SIZE: Final = (
    "SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = N'max text repl size (B)';"
)


def jobs(database: str | None) -> str:
    """List the capture job and the cleanup job, with polling interval and retention."""
    return f"EXEC {system_name(database, 'sys.sp_cdc_help_jobs')};"


def newest_age(database: str | None) -> str:
    """Select the age of the newest commit by the server's own clock, in seconds."""
    return (
        "SELECT DATEDIFF_BIG(second, MAX(tran_end_time), SYSDATETIME())"  # noqa: S608 - a quoted name
        f" FROM {system_name(database, 'cdc.lsn_time_mapping')};"
    )
