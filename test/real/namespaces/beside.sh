#!/bin/sh
# The first command of an ephemeral container, in the network namespace of its pod: makes sure that it is there, and
# becomes the container's process.
#
# beside.sh NETWORK-OF-THE-MACHINE COMMAND…
set -eu
machine=$1
shift
if [ "$(readlink /proc/self/ns/net)" = "$machine" ]; then
  echo "refused: this is the machine's own network namespace" >&2
  exit 97
fi
exec "$@"
