"""A row's cells.

cell_values    a cell's bytes as a value, and as the server's text
before_images  what an update did not touch, put back into the image before
"""
