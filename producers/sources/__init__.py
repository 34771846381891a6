"""One folder for each database; it is found by its name, and no code lists it.

In: settings and a server.  Out: a source as `producers/contract/` has it.  A source imports that contract, and
`rows/` and `kit/` beside it; what it takes from another source, such as `mariadb` from `mysql`, it says.
"""
