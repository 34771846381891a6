"""`wrackline delete`: what a pipeline has made, taken away.

finding.py    what is there, what of it goes, what stays and why
removing.py   the removal, in an order that any crash may cut
"""
