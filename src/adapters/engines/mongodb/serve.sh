#!/bin/sh
# Serves a branch of MongoDB; arguments are those of the server.
#
# Variables: DATA, the folder of the copy; POD_IP, the address to listen to, else all of IPv4.
# Exit codes: that of the server.

case ${POD_IP-} in *:*) set -- --ipv6 "$@" ;; esac
exec mongod --dbpath "$DATA" --port 27017 --bind_ip "${POD_IP:-0.0.0.0}" --auth --nounixsocket "$@"
