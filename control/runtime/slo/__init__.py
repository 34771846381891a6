"""What a pipeline promises of its copies' freshness, and how that went.

slo_report    the minutes of a board as one value; pure
slo_answer    the same as plain values, for REST; pure
"""
