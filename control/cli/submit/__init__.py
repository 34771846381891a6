"""What spark-submit is given."""
