#!/bin/sh
# Makes .env in the repository's top folder from env.example: a random value behind each `=` that has none.
# A .env that is there keeps its values, because volumes may hold them, and gets the random ones that it lacks.
set -eu
umask 077
cd "$(dirname "$0")/.."

by_chance() {
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

if [ -e .env ]; then
    lines= names=
    while IFS= read -r line; do
        case $line in
        '#'*) ;;
        *=)
            if ! grep -Eq "^[[:space:]]*(export[[:space:]]+)?${line}[^[:space:]]" .env; then
                lines="$lines
$line$(by_chance)"
                names="$names ${line%=}"
            fi
            ;;
        esac
    done <deploy/env.example
    if [ -z "$names" ]; then
        echo "make-env: .env is there and lacks nothing; volumes may hold its passwords, so it stays as it is." >&2
        exit 1
    fi
    printf '%s\n' "$lines" >>.env
    echo "make-env: .env keeps what it has; it lacked, and has now:$names" >&2
    exit 0
fi
while IFS= read -r line; do
    case $line in
    '#'*) ;;
    *=) line=$line$(by_chance) ;;
    esac
    printf '%s\n' "$line"
done <deploy/env.example >.env.part
mv .env.part .env
echo "make-env: .env is made." >&2
