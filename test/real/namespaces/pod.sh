#!/bin/sh
# The first command of a pod, in a network namespace that unshare has just made: connects that to the node's namespace
# and becomes the pod's process. Both ends of the pair of interfaces vanish with the pod's process.
#
# pod.sh NETWORK-OF-THE-MACHINE PID-OF-THE-NODE NUMBER ADDRESS ADDRESS-OF-THE-NODE COMMAND…
set -eu
machine=$1 node=$2 number=$3 address=$4 gateway=$5
shift 5
for process in self "$node"; do
  if [ "$(readlink "/proc/$process/ns/net")" = "$machine" ]; then
    echo "refused: process $process is in the machine's own network namespace" >&2
    exit 97
  fi
done
ip link set lo up
ip link add eth0 type veth peer name "pod$number" netns "$node"
ip addr add "$address/32" dev eth0
ip link set eth0 up
ip route add "$gateway" dev eth0
ip route add default via "$gateway"
nsenter --target "$node" --net sh -ec "ip link set pod$number up; ip route add $address dev pod$number src $gateway"
exec "$@"
