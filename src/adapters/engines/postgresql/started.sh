#!/bin/sh
# Ends with 0 once the branch's server takes connections: its port is open while it still starts up and refuses all.
#
# Variables: POD_IP, the address of the server.

exec pg_isready -q -h "${POD_IP:-127.0.0.1}" -p 5432
