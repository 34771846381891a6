"""MySQL and MariaDB: their log through the binlog, their rows through SELECT, their types and marks."""
