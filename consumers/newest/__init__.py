"""The newest change of each key of a range, read by the driver itself into Arrow columns.

In: a range's records in memory, how the table's newest change was written, and the plan that follows from it.
Out: changes for contract/direct.py, and the batch's outline; or word that Spark's readers have to look.

    newest_changes   the face: which batches are read so, and their changes; pure
    earlier_changes  values that a key's newest change lacks, from earlier ones of the batch; pure
    plain_columns    changes as the columns of a warehouse's stage; pure
    json_texts       texts of arrays and keys, as Spark writes them; pure
    part_tree        an Avro schema as the tree of parts that reads it; pure
    fetched_records  the records of a range in memory (compiled)
    newest_records   chooses among them by their bytes, and reads what is chosen (compiled)
    arrow_parts      Avro bytes to the buffers of Arrow columns (compiled)

Records of any other kind are for records/, which this room must agree with: a record that is odd is refused,
not interpreted.
"""
