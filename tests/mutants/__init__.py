"""Small faults put into the product, one at a time: which do its tests not find?"""
