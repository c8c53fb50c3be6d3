#!/bin/sh
# Ends with 0 once the branch's server answers: its port is open while it still loads its data.
#
# Variables: POD_IP, the address of the server; BRANCH_PASSWORD, its password.

export REDISCLI_AUTH="$BRANCH_PASSWORD"
[ "$(redis-cli -h "${POD_IP:-127.0.0.1}" -p 6379 ping)" = PONG ]
