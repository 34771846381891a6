"""Software that is not ours, on both sides of our topics: Kafka Connect with Debezium's connectors."""
