"""The whole product on this machine, from nothing: `./run demo`.

shop (PostgreSQL or MariaDB) -> worker -> Kafka -> lake (Spark, Iceberg)

with a live workload, a schema change, a crash, and a comparison at the end
"""
