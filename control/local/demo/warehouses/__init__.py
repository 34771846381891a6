"""Where the demo's copy lies, for each target: a module, and a row in `known`.

warehouse   what the demo needs of one; `Emulated`, which is most of one that is an emulator
known       all of them, by the name of the target's folder
iceberg     tables in a folder, read by Spark
bigquery    an emulator of BigQuery, read by Google's own client
redshift    a front before PostgreSQL, and moto for S3, read by Redshift's own driver
snowflake   an emulator of Snowflake, read by Snowflake's own driver
spanner     Google's emulator of Spanner, read by Google's own client
cells       values of a driver in the plain form of shops/shop.py
"""
