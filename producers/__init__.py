"""Database to Kafka: source workers that read a database's log and its existing rows."""
