#!/bin/sh
# Serves a branch of Redis; arguments are those of the server.
#
# Variables: DATA, the folder of the copy; POD_IP, the address to listen to, else all of IPv4.
# Exit codes: that of the server.

exec redis-server "$DATA.conf" --dir "$DATA" --port 6379 --bind "${POD_IP:-0.0.0.0}" "$@"
