"""Which tests belong to which module: a mutant of the module must not survive them."""

_UNIT = "tests/unit/producers/"
_SNAPSHOT = (
    f"{_UNIT}snapshot",
    f"{_UNIT}test_existing_rows.py",
    f"{_UNIT}test_asking.py",
    f"{_UNIT}test_first_reads.py",
    f"{_UNIT}test_receipts_beside_rows.py",
    "tests/property/test_receipts_through_crashes.py",
    "tests/property/test_splice.py",
)
_HISTORIES = (
    "tests/simulation/test_histories.py::test_seeds_that_failed_once_pass",
    "tests/simulation/test_histories.py::test_no_setting_breaks_a_rule",
    "tests/mutants/histories.py",
)
_LOOP = tuple(
    f"{_UNIT}test_{name}.py"
    for name in (
        "assembly",
        "batching",
        "batching_edges",
        "batching_saves",
        "existing_rows",
        "first_reads",
        "going_on",
        "lanes",
        "messages_left_out",
        "metrics",
        "receipt_book",
        "receipts_beside_rows",
        "room",
        "set_aside",
        "task",
        "task_order",
        "truncates_left_out",
        "unfit_letters",
        "unproven",
    )
)
_KAFKA = tuple(
    f"{_UNIT}test_{name}.py"
    for name in ("client", "task", "task_order", "transaction", "transaction_faults", "own_topics", "metrics")
)
# What these do is seen without the simulation's histories.
_WITHOUT_HISTORIES = (
    "gate",
    "jobs",
    "key_bounds",
    "receipt_changes",
    "machine",
    "incomplete_rows",
    "work_index",
    "shape_changes",
    "table_state",
    "snapshot_table",
    "work_items",
)

_CONSUMERS = "tests/unit/consumers/"
_PLANS = (
    *(
        f"{_CONSUMERS}test_{name}.py"
        for name in ("plan", "rounds", "modes", "evolve", "figures", "transactions", "iceberg_progress")
    ),
    f"{_CONSUMERS}auto_cdc/test_shape.py",
    "tests/property/test_boundaries.py",
)
_SPARK = tuple(f"{_CONSUMERS}test_{name}.py" for name in ("dedupe", "newest", "one_number"))
_BROKER = "tests/integration/kafka/"
_TOPICS = (
    f"{_UNIT}test_topic_groups.py",
    f"{_BROKER}test_publisher.py::test_topics_are_made_as_their_group_says",
    f"{_BROKER}test_publisher.py::test_a_topic_that_cannot_be_created_needs_an_operator",
    f"{_BROKER}test_publisher.py::test_a_topic_is_made_once_and_one_that_others_made_is_no_error",
    f"{_BROKER}test_publisher.py::test_an_error_that_may_pass_is_not_blamed_on_a_topic",
    f"{_BROKER}test_denied_topics.py::test_the_topic_that_may_not_be_written_is_reported_among_many",
)

_SQL = ("dialect", "key_order", "condition_sql", "chunk_sql")
_READS = ("chunk_reads", "whole_rows", "row_tail")
_PREFLIGHT = ("probes", "table_scope", "column_findings")
_FOLLOWED = ("known_tables", "log_reports", "step_log")
_PACKED = (  # without the properties, which compare the builds too
    "a_batch_can_grow_once_it_was_packed",
    "a_batch_that_has_fewer_places_than_cells_is_not_packed",
    "a_cell_of_16_mib_has_its_whole_length",
    "a_cell_outside_of_its_batch_is_not_packed",
    "columns_that_a_batch_lacks_are_not_packed",
    "a_row_that_does_not_match_its_columns_is_refused",
    "rows_are_packed_from_a_column_on",
    "a_moment_that_no_server_stores_is_refused",
    "a_cell_of_any_length_is_found",
    "a_mask_that_is_longer_than_its_value_has_room",
    "a_row_that_does_not_fit_is_counted_with_its_report_and_the_next_has_none",
)
_SQLSERVER_ROWS = (
    f"{_UNIT}sqlserver/test_cell_values.py",
    *(f"tests/property/test_sqlserver_packed_rows.py::test_{name}" for name in _PACKED),
    "tests/unit/test_fuzz_corpus.py::test_what_was_kept_holds[sqlserver-rows]",
    f"{_UNIT}sqlserver/test_change_runs.py",
)
_CELLS = ("packed_row", "rows", "before_images")
_SQLSERVER = f"{_UNIT}sqlserver/"
_ORACLE = f"{_UNIT}oracle/"
_ORACLE_FILES = ("log_files", "mining_range", "incarnation", "mined_row")
_ORACLE_CHANGES = ("mined_change", "change_stack", "split_rows", "spill_file", "slot_index")
_LANES = tuple(
    f"{_UNIT}test_{name}.py"
    for name in ("lanes", "lanes_alone", "lane_openings", "lanes_apart", "lanes_sessions", "one_that_hangs")
)

TESTS: dict[str, tuple[str, ...]] = {
    "consumers/contract/plan.py": _PLANS,
    "consumers/contract/batch_scope.py": _PLANS,
    **{f"consumers/records/{name}.py": _SPARK for name in ("fast_path", "replaced_records", "dedupe")},
    "consumers/records/slow_path.py": (f"{_CONSUMERS}test_slow_path.py",),
    "producers/cutting/cutter.py": _LOOP,
    "producers/task/partition_run.py": _LOOP,
    "producers/task/partition_opener.py": _LOOP,
    **{f"producers/snapshot/{name}.py": _SNAPSHOT for name in _WITHOUT_HISTORIES},
    "producers/contract/snapshot_requests.py": _SNAPSHOT,
    "producers/snapshot/window.py": (*_SNAPSHOT, *_HISTORIES),
    **{f"producers/kit/reads/{name}.py": (f"{_UNIT}kit/test_chunk_reads.py",) for name in _READS},
    **{f"producers/kit/reads/{name}.py": (f"{_UNIT}kit/test_dialects.py",) for name in _SQL},
    **{f"producers/kit/preflight/{name}.py": (f"{_UNIT}kit/test_preflight.py",) for name in _PREFLIGHT},
    "producers/kit/polled_stream.py": (f"{_UNIT}kit/test_polled_stream.py",),
    "producers/kit/lent_connection.py": (
        f"{_UNIT}kit/test_source_parts.py",
        "tests/unit/test_pg_databases.py",
    ),
    "producers/kit/open_handles.py": (f"{_UNIT}kit/test_source_parts.py",),
    **{f"producers/kit/{name}.py": (f"{_UNIT}kit/test_{name}.py",) for name in _FOLLOWED},
    "producers/kafka/transactor.py": _KAFKA,
    "producers/kafka/failures.py": (f"{_UNIT}test_failures.py",),
    "producers/kafka/client.py": (f"{_UNIT}test_client.py",),
    "producers/kafka/publisher.py": (f"{_UNIT}test_recovery.py",),
    "producers/kafka/topic_creation.py": _TOPICS,
    "producers/kafka/login_check.py": (f"{_BROKER}test_security.py",),
    "producers/kafka/offsets_topic.py": (
        f"{_UNIT}test_offsets_topic.py",
        f"{_UNIT}test_recovery.py",
        f"{_BROKER}test_publisher.py",
        f"{_BROKER}test_security.py::test_a_refusal_while_it_runs_is_reported_and_not_tried_forever",
    ),
    **{f"producers/sources/sqlserver/rows/{name}.py": _SQLSERVER_ROWS for name in _CELLS},
    "producers/sources/sqlserver/rows/cell_values.py": (
        f"{_SQLSERVER}test_cell_values.py",
        f"{_SQLSERVER}test_odd_cells.py",
    ),
    "producers/sources/sqlserver/log/lsn.py": (f"{_SQLSERVER}test_position.py",),
    "producers/sources/sqlserver/log/changes.py": (
        f"{_SQLSERVER}test_change_runs.py",
        f"{_SQLSERVER}test_page_merger.py",
    ),
    "producers/sources/sqlserver/log/page_merger.py": (f"{_SQLSERVER}test_page_merger.py",),
    "producers/sources/sqlserver/log/position.py": (
        f"{_SQLSERVER}test_position.py",
        f"{_SQLSERVER}test_continuity.py",
    ),
    "producers/sources/sqlserver/poll/capture_watch.py": (f"{_SQLSERVER}test_capture_watch.py",),
    "producers/sources/sqlserver/session/shared_question.py": (f"{_SQLSERVER}test_shared_question.py",),
    "producers/sources/sqlserver/log/range_audit.py": (f"{_SQLSERVER}test_range_audit.py",),
    **{
        f"producers/sources/sqlserver/follow/{name}.py": (f"{_SQLSERVER}test_{name}.py",)
        for name in ("handover", "continuity", "instance_tracker")
    },
    **{
        f"producers/sources/oracle/mining/{name}.py": (f"{_ORACLE}test_{name}.py",)
        for name in ("mining_sql", "safe_scn")
    },
    "producers/sources/oracle/redo/values.py": (f"{_ORACLE}test_redo_values.py",),
    **{
        f"producers/sources/oracle/mining/{name}.py": (f"{_ORACLE}test_log_files.py",)
        for name in _ORACLE_FILES
    },
    **{
        f"producers/sources/oracle/transactions/{name}.py": (
            f"{_ORACLE}test_transaction_buffer.py",
            f"{_ORACLE}test_savepoints.py",
            f"{_ORACLE}test_spill_file.py",
        )
        for name in (*_ORACLE_CHANGES, "open_transaction", "transaction_buffer")
    },
    "producers/sources/oracle/mining/position.py": (f"{_ORACLE}test_position.py",),
    "schemas/pipelines/deal.py": (
        "tests/unit/test_deal.py",
        "tests/unit/control/test_file_tasks.py",
        f"{_UNIT}test_takeover.py",
    ),
    "producers/task/lanes.py": _LANES,
    "producers/task/lane_wait.py": (f"{_UNIT}test_lane_wait.py",),
    "producers/kafka/neighbours.py": (f"{_UNIT}test_neighbours.py",),
    "producers/kafka/ownership.py": (f"{_BROKER}test_ownership.py", f"{_BROKER}test_deals.py"),
    "producers/kafka/takeover.py": (f"{_UNIT}test_takeover.py", "tests/simulation/test_deals.py"),
    "producers/kafka/requests_topic.py": (f"{_BROKER}test_receipts_read.py",),
    "producers/kafka/signal_topic.py": (f"{_BROKER}test_signal_topic.py",),
    "producers/kafka/topic_deletion.py": (
        f"{_BROKER}test_ownership.py::test_topics_that_go_are_gone_and_those_that_were_not_there_are_no_error",
        f"{_BROKER}test_removal.py",
        f"{_BROKER}test_denied_topics.py::test_a_topic_that_may_not_be_deleted_is_named",
    ),
}
