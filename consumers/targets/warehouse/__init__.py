"""What the folders of warehouses have in common and consumers/staged/ has not; it is no target by itself.

plugin   the plug-in, but for a warehouse's own names
"""
