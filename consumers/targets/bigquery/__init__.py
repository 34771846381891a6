"""BigQuery: a batch is one Parquet file, one load, and one script, which is a transaction.

No pipeline can choose it yet.

    types       names and types, and how they are made of primitives
    dialect     quotes, and the script
    limits      what BigQuery allows, as data
    partitions  by what a table is cut and sorted
    session     a conversation by Google's own client; jobs with ids that repeat
    service     its catalogue, layout and refusals, for a staged target
    refusals    what an error of the service means
    check       rights, places, and what a merge costs
"""
