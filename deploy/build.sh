#!/bin/sh
# Installs the product from the repository in the current folder, with all but Spark's jars (deploy/jars.sh).
#   deploy/build.sh <folder>
set -eu
folder=$1

unset PYTHONPATH # only what is installed counts
python3 -m venv "$folder"
"$folder/bin/pip" install --no-cache-dir --disable-pip-version-check ".[iceberg]"

# the codec runs as plain Python too, some 35 times slower: an image with it is a fault
"$folder/bin/python" -I -c 'import sys
from wrackline.schemas import codec
sys.exit(0 if codec.__file__.endswith(".so") else "the codec was not compiled: is a C compiler here?")'

cp deploy/healthy.py deploy/worker.sh "$folder"
