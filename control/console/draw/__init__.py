"""Drawings of the console: numbers into the geometry of SVG elements.  Pure.

range_bar      the key ranges of a table under way, as one bar
"""
