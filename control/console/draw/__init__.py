"""Drawings of the console: numbers into the geometry of SVG elements.  Pure.

charts         lines over time, on one scale
range_bar      the key ranges of a table under way, as one bar
log_forecast   how much of the log is kept, and when that reaches its limit
flow_map       tables, topics and copies in three layers
heat_map       a cell for each table
day_strip      a cell for each day
"""
