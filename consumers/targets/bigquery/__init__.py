"""BigQuery: a batch is one Parquet file, one load, and one script, which is a transaction.

types        names and types, and how they are made of primitives
dialect      quotes, and the script
limits       what BigQuery allows, as data
partitions   by what a table is cut and sorted
"""
