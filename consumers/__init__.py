"""Kafka to tables: Spark jobs that decode, deduplicate and merge events."""
