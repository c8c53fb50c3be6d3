#!/bin/sh
# Serves a branch of PostgreSQL; arguments are those of the server.
#
# Variables: DATA, the folder of the copy; POD_IP, the address to listen to, else all of them.
# Exit codes: that of the server.

exec postgres -D "$DATA" -c "listen_addresses=${POD_IP:-*}" -c port=5432 \
  -c unix_socket_directories= "$@"
