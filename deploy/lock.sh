#!/bin/sh
# Writes the lists of the image's packages, each with its sha256: deploy/requirements.txt, and what builds them.
#   deploy/lock.sh [--upgrade]    needs uv: pip install uv; without --upgrade what is written down stays
# Then look at what changed, and at the licences: docs/dependencies.md.
set -eu
cd "$(dirname "$0")/.."
more=${1:-}

lock() { uv pip compile -q $more --python-platform linux --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate "$@"; }

python3 -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' >deploy/requirements-build.in
trap 'rm -f deploy/requirements-build.in' EXIT
lock -o deploy/requirements-build.txt deploy/requirements-build.in
lock -o deploy/requirements.txt --extra iceberg pyproject.toml deploy/requirements-build.in
