"""The contract of a target, and the plain values that both sides of it use.

In: the shape of a table and the settings.  Out: the plan of a merge, and how far a table has come. Nothing
here reads Kafka or runs Spark.

    target          what a target's folder offers, and the promises of a target
    direct          a target that merges a few rows without a frame
    plan            the merge plan, and what a table has applied
    identifiers     the source's column names as a target allows them
    place_settings  where tables and views are, as settings
    modes           upsert, history or append, and how deletes are kept
    drop_rules      what becomes of the copy of a table that is gone at the source
    letters         dead letters, and the box that keeps them
    sequences       the sequence of a feed as text and as value
    batch_scope     a range of offsets, and which schemas a batch was written with
    limits          what a target holds no value of
    counts          how many rows of each operation a batch holds
    applied_text    what a table has applied, as the JSON text of a commit
"""
