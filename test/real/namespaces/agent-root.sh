#!/bin/sh
# Gives an agent the files that it sees in its image and through the volumes of its Job: the machine's, a /run of its
# own, and the socket of the container runtime below /host/run. The mount namespace is the agent's own, so the machine
# sees none of it. An empty SOCKET: there are no volumes, so there is no /host.
#
# agent-root.sh SOCKET COMMAND…
set -eu
socket=$1
shift
root=/mnt
mount -t tmpfs none "$root"
for entry in /*; do
  case $entry in /host | /run | /mnt) continue ;; esac
  if [ -L "$entry" ]; then
    cp -P "$entry" "$root/"
  elif [ -d "$entry" ]; then
    mkdir "$root$entry"
    mount --rbind "$entry" "$root$entry"
  fi
done
mkdir -p "$root/mnt" "$root/run"
if [ -n "$socket" ]; then
  mkdir -p "$root/host/run"
  : > "$root/host/run/docker.sock"
  mount --bind "$socket" "$root/host/run/docker.sock"
fi
exec chroot "$root" "$@"
