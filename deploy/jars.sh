#!/bin/sh
# Fetches the jars that a pipeline's Spark needs into the folder of an installation (deploy/build.sh).
#   deploy/jars.sh <folder> <pipeline.toml>
# The folder then holds all that is needed to run, and is only read from then on.
set -eu
folder=$1
pipeline=$2

# the pipeline only says which target it is; nothing is connected to
WRACKLINE_CACHE="$folder/jars" WRACKLINE_DB_PASSWORD=unused "$folder/bin/wrackline" spark jars "$pipeline"
