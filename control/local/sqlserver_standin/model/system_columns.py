"""The columns of the system tables that the stand-in has, as Microsoft documents them.

Of a view only the columns that a reader of changes asks for are here.
"""

from collections.abc import Mapping
from types import MappingProxyType

_TEXT = """
sys.databases
    name sysname; database_id int; create_date datetime; collation_name sysname null;
    user_access_desc nvarchar(60) null; state_desc nvarchar(60) null; is_cdc_enabled bit;
    is_read_committed_snapshot_on bit null; snapshot_isolation_state tinyint null;
    snapshot_isolation_state_desc nvarchar(60) null; compatibility_level tinyint; is_read_only bit null;
    recovery_model tinyint null; recovery_model_desc nvarchar(60) null;
    replica_id uniqueidentifier null; group_database_id uniqueidentifier null
sys.database_recovery_status
    database_id int; database_guid uniqueidentifier null; family_guid uniqueidentifier null;
    last_log_backup_lsn numeric(25,0) null; recovery_fork_guid uniqueidentifier null
sys.tables
    name sysname; object_id int; schema_id int; type char(2) null; type_desc nvarchar(60) null;
    is_ms_shipped bit; is_tracked_by_cdc bit null
sys.schemas
    name sysname; schema_id int
sys.columns
    object_id int; name sysname null; column_id int; system_type_id tinyint; user_type_id int;
    max_length smallint; precision tinyint; scale tinyint; collation_name sysname null;
    is_nullable bit null; is_identity bit; is_computed bit; is_masked bit;
    encryption_type int null
sys.types
    name sysname; system_type_id tinyint; user_type_id int; schema_id int; is_user_defined bit;
    is_assembly_type bit
sys.indexes
    object_id int; name sysname null; index_id int; type tinyint; type_desc nvarchar(60) null;
    is_unique bit null; is_primary_key bit null; is_disabled bit null;
    has_filter bit null
sys.partitions
    partition_id bigint; object_id int; index_id int; partition_number int; rows bigint null
sys.index_columns
    object_id int; index_id int; index_column_id int; column_id int; key_ordinal tinyint;
    is_descending_key bit null; is_included_column bit null
cdc.change_tables
    object_id int; version int null; source_object_id int null; capture_instance sysname;
    start_lsn binary(10) null; end_lsn binary(10) null; supports_net_changes bit null;
    has_drop_pending bit null; role_name sysname null; index_name sysname null;
    filegroup_name sysname null; create_date datetime null; partition_switch bit
cdc.captured_columns
    object_id int; column_name sysname; column_id int null; column_type sysname; column_ordinal int;
    is_computed bit null
cdc.index_columns
    object_id int; column_name sysname; index_ordinal tinyint; column_id int
cdc.lsn_time_mapping
    start_lsn binary(10); tran_begin_time datetime null; tran_end_time datetime null;
    tran_id varbinary(10) null
cdc.ddl_history
    source_object_id int null; object_id int; required_column_update bit null;
    ddl_command nvarchar(max) null; ddl_lsn binary(10); ddl_time datetime null
dbo.cdc_jobs
    database_id int; job_type nvarchar(20); job_id uniqueidentifier null; maxtrans int null;
    maxscans int null; continuous bit null; pollinginterval bigint null; retention bigint null;
    threshold bigint null
sys.availability_databases_cluster
    group_id uniqueidentifier; group_database_id uniqueidentifier; database_name sysname null
sys.dm_cdc_log_scan_sessions
    session_id int; start_time datetime null; end_time datetime null; duration bigint null;
    scan_phase nvarchar(200) null; error_count int null; start_lsn nvarchar(23) null;
    current_lsn nvarchar(23) null; end_lsn nvarchar(23) null; tran_count bigint null;
    last_commit_lsn nvarchar(23) null; last_commit_time datetime null; log_record_count bigint null;
    schema_change_count int null; command_count bigint null; first_begin_cdc_lsn nvarchar(23) null;
    last_commit_cdc_lsn nvarchar(23) null; last_commit_cdc_time datetime null; latency int null;
    empty_scan_count int null; failed_sessions_count int null
sys.dm_server_services
    servicename nvarchar(256); startup_type int null; startup_type_desc nvarchar(256) null;
    status int null; status_desc nvarchar(256) null
sys.dm_tran_database_transactions
    transaction_id bigint; database_id int; database_transaction_begin_time datetime null;
    database_transaction_type int; database_transaction_state int;
    database_transaction_begin_lsn numeric(25,0) null; database_transaction_last_lsn numeric(25,0) null;
    database_transaction_most_recent_savepoint_lsn numeric(25,0) null
sys.dm_tran_current_transaction
    transaction_id bigint
sys.configurations
    configuration_id int; name nvarchar(35); value int null; value_in_use int null
"""


def _read(text: str) -> dict[str, str]:
    """Read names, each followed by lines of its columns."""
    found: dict[str, str] = {}
    name = ""
    for line in text.strip().splitlines():
        if line.startswith(" "):
            found[name] += line.strip() + " "
        else:
            name = line
            found[name] = ""
    return {name: columns.strip() for name, columns in found.items()}


COLUMNS: Mapping[str, str] = MappingProxyType(_read(_TEXT))
