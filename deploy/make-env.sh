#!/bin/sh
# Makes .env in the repository's top folder from env.example: a random value behind each `=` that has none.
set -eu
umask 077
cd "$(dirname "$0")/.."
if [ -e .env ]; then
    echo "make-env: .env is there; volumes may hold its passwords, so it stays as it is." >&2
    exit 1
fi
while IFS= read -r line; do
    case $line in
    '#'*) ;;
    *=) line=$line$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n') ;;
    esac
    printf '%s\n' "$line"
done <deploy/env.example >.env.part
mv .env.part .env
echo "make-env: .env is made." >&2
