#!/bin/sh
# Serves a branch of DynamoDB from the folder of the image that has the server, at all addresses; arguments are those of
# the server. All credentials see the same tables, which are in memory alone.
#
# Exit codes: that of the server.

export DDB_LOCAL_TELEMETRY=0
exec java -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -inMemory -sharedDb -port 8000 "$@"
