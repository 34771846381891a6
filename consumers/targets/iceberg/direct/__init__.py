"""Changes into an Iceberg table without Spark's planner: one file, some marks, one commit.

In: the newest changes of a batch in Arrow (contract/direct.py), and a plan.  Out: a commit
that leaves what MERGE would have left, or word that MERGE has to do it.

    direct_table      the face: a table as it was when the merge began, and the merge
    table_memory      where the row of each key is, as far as it was needed
    file_rows         the keys of one data file; pure
    row_choice        which rows go and which come; pure
    stored_cells      values of stored rows that a change did not send; pure
    arrow_columns     values as Avro has them to those that Iceberg wants; pure
    data_file         rows to a Parquet file as the table's schema wants it; pure
    snapshot_history  what the table's snapshots say is applied; pure
    java_table        the Java objects of the table: its files, its deletion vectors, its commit
    java_values       numbers, functions and bytes between Python and Java
"""
