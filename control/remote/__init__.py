"""A worker elsewhere, asked by REST: the same words for ours and for Kafka Connect."""
