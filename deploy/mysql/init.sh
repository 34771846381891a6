#!/bin/sh
# What MySQL's image runs once, on an empty volume: a table to begin with, and the least rights of a reader.
# The grants are those of docs/mysql.md. The passwords go by the environment and standard input, so that no list of
# processes shows them.
set -eu
quoted=$(printf %s "$WRACKLINE_DB_PASSWORD" | sed "s/[\\\\']/\\\\&/g")
MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql --protocol=socket --user=root "$MYSQL_DATABASE" <<SQL
CREATE TABLE orders (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    customer varchar(200) NOT NULL,
    total decimal(12, 2) NOT NULL,
    placed timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO orders (customer, total) VALUES ('first', 10.00), ('second', 20.50);
CREATE USER wrackline_reader IDENTIFIED BY '$quoted';
GRANT REPLICATION SLAVE, REPLICATION CLIENT, XA_RECOVER_ADMIN ON *.* TO wrackline_reader;
GRANT SELECT ON $MYSQL_DATABASE.* TO wrackline_reader;
SQL
