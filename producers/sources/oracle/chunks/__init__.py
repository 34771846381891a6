"""Reads of existing rows, each as of one SCN.

chunks      chunks between two keys, and what is asked about keys and sizes
whole       a table without a key, whole
chunk_sql   the statements
key_order   the order of keys, and the conditions of requests
key_values  a value as the literal that its column is compared with
slicing     rows into the slices of a chunk
fence       an SCN as a mark
"""
