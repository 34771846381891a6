"""One folder for each database; it is found by its name, and no code lists it.

In: settings and a server.  Out: a source as `producers/contract/` has it.  A source imports that contract,
`rows/` and `kit/`; what it takes from another source, as `mariadb` does from `mysql`, it says.
"""
