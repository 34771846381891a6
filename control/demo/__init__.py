"""The whole product on this machine, from nothing: `./run demo`.

shop (PostgreSQL) -> worker -> Kafka -> lake (Spark, Iceberg)      a live workload, a schema change,
                                                                   a crash, and a comparison at the end
"""
