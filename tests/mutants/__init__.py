"""Small faults put into the product, one at a time: which of them do its tests not see?"""
