#!/bin/sh
# Serves a branch of MySQL or MariaDB; arguments are those of the server.
#
# Variables: DATA, the folder of the copy; STAGING, one for its socket; POD_IP, the address to listen to, else all.
# Exit codes: that of the server.

. "$(dirname "$0")/server.sh"
exec "$server" --defaults-file="$DATA.cnf" --datadir="$DATA" --bind-address="${POD_IP:-*}" --port=3306 \
  --socket="$STAGING/s" --pid-file="$STAGING/pid" "$@"
