#!/bin/sh
# Installs the product from the repository in the current folder, with the jars that a pipeline's Spark needs.
#   deploy/build.sh <folder> <pipeline.toml>
# The folder then holds all that is needed to run, and is only read from then on.
set -eu
folder=$1
pipeline=$2

unset PYTHONPATH # only what is installed counts
python3 -m venv "$folder"
"$folder/bin/pip" install --no-cache-dir --disable-pip-version-check ".[iceberg]"

# the codec runs as plain Python too, some 35 times slower: an image with it is a fault
"$folder/bin/python" -I -c 'import sys
from wrackline.schemas import codec
sys.exit(0 if codec.__file__.endswith(".so") else "the codec was not compiled: is a C compiler here?")'

cp deploy/healthy.py "$folder/healthy.py"
# the pipeline only says which target it is; nothing is connected to
WRACKLINE_CACHE="$folder/jars" WRACKLINE_DB_PASSWORD=unused "$folder/bin/wrackline" spark jars "$pipeline"
