"""The description of the worker's REST, for programs.

In: the table of roles.  Out: the OpenAPI document; a test compares it with the routes.

    route_descriptions   what each route takes and answers
    json_schemas         the documents as JSON schemas
    lineage_schemas      those of lineage
    slo_schemas          that of a promise of freshness
    plane_schemas        those of CDAP's paths
    schema_parts         what all of them are made of
    openapi              the whole document
"""
