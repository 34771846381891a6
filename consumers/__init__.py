"""Kafka to tables: Spark jobs that decode, deduplicate and merge events.

In: the topics of one server.  Out: tables of a target, each with the offsets that it holds.

    contract       what a target promises, and the plan that it is given
    records        bytes of a topic to the newest change of each key
    newest         the same in the driver's memory, in Arrow, by compiled code
    batch          one batch of one table, from a range of offsets to one commit
    kafka          which offsets there are, and where a batch may end
    drive          which table is merged when, and which consumer may merge at all
    spark          the Spark session, and what Spark lacks
    lake           SQL and table shapes for every target whose tables Spark writes
    staged         SQL and table shapes for every target that loads files and merges them itself
    observe        metrics, status, and the look for new offsets
    auto_cdc       feeds that no worker of ours wrote
    targets        one folder for each target
    failpoints.py  places where a test lets the process die

An import goes one way: observe, drive, batch, then kafka, newest, records, lake and staged, then contract
and spark. A target imports contract, lake, staged, spark and failpoints, and nothing else of this folder.
"""
