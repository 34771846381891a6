#!/bin/sh
# Installs the product from the repository in the current folder, with all but Spark's jars (deploy/jars.sh).
#   deploy/build.sh <folder>
set -eu
folder=$1

unset PYTHONPATH # only what is installed counts
python3 -m venv "$folder"
install() { "$folder/bin/pip" install --no-cache-dir --disable-pip-version-check "$@"; }

# every package is one of those whose sha256 is written down (deploy/lock.sh), what builds others included
install --require-hashes -r deploy/requirements-build.txt
install --require-hashes --no-build-isolation -r deploy/requirements.txt
install --no-deps --no-build-isolation .

# the codec runs as plain Python too, some 35 times slower: an image with it is a fault
"$folder/bin/python" -I -c 'import sys
from wrackline.producers.rows import python_rows
sys.exit(0 if python_rows.__file__.endswith(".so") else "the codec was not compiled: is a C compiler here?")'

cp deploy/healthy.py deploy/worker.sh "$folder"
