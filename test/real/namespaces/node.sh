#!/bin/sh
# The node of the pods: a network namespace with an address, and a program that lives as long as it.
#
# node.sh NETWORK-OF-THE-MACHINE ADDRESS COMMAND…
set -eu
machine=$1 address=$2
shift 2
if [ "$(readlink /proc/self/ns/net)" = "$machine" ]; then
  echo "refused: this is the machine's own network namespace" >&2
  exit 97
fi
ip link set lo up
ip addr add "$address/32" dev lo
exec "$@"
