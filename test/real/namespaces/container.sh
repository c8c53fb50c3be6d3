#!/bin/sh
# The first command of a workload's container, in a mount namespace of its own: puts a file there that no other container
# has, and becomes the container's process.
#
# container.sh COMMAND…
set -eu
mount -t tmpfs none /mnt
echo "a file of $POD" > /mnt/pod.txt
exec "$@"
