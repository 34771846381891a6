"""What the targets whose tables Spark writes have in common.

In: a plan, and a staged batch.  Out: SQL that merges it, and tables that know their columns by identity.

    lake_target       the target itself, over a format of tables
    table_format      what a format does in its own way, in the folder of its target
    lake_upkeep       the steps that keep a table fast and small
    merge_sql         a batch as one MERGE
    versions_sql      a history as one MERGE
    sequence_sql      a feed's sequence from its text, as SQL
    table_shape       creates and alters tables, and reads what a table says of itself
    column_types      the types of columns, and their identity in a comment
    reader_view       the rows that a reader of a table should see
    letters_table     dead letters in a table
    tombstone_vacuum  deletes tombstones that no event can be older than
    check_rules       findings that every such target can have
"""
