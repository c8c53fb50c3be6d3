#!/bin/sh
# Serves a branch of ClickHouse by the native protocol and by HTTP; arguments are those of the server.
#
# Variables: DATA, the folder of the copy; POD_IP, the address to listen to, else all of them.
# Exit codes: that of the server.

. "$(dirname "$0")/configure.sh"
configure "${POD_IP:-0.0.0.0}" 9000 "<http_port>8123</http_port>"
exec clickhouse-server --config-file="$DATA/config.xml" "$@"
