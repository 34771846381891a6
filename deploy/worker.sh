#!/bin/sh
# Starts a worker with the pipelines that are named, and answers by REST whoever has the token in
# WRACKLINE_REST_TOKEN. Beyond this container it is reached at 127.0.0.1 of the machine alone (docker-compose.yml).
set -eu
umask 077
digest=$(printf %s "$WRACKLINE_REST_TOKEN" | sha256sum | cut -d ' ' -f 1)
unset WRACKLINE_REST_TOKEN
users=/tmp/users.toml
printf '[users.operator]\nrole = "operator"\ntokens = [{ sha256 = "%s" }]\n' "$digest" >"$users"
exec wrackline worker "$@" --rest-port 8083 --rest-host 0.0.0.0 --rest-advertised 127.0.0.1:28083 \
    --rest-name pod --rest-users "$users" --rest-tls-ends-before
