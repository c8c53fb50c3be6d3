#!/bin/bash
# world.sh NAME ADDRESS FOLDER: makes a world for one node of Kubernetes, prints "ready", and waits until it is killed.
# A world has a network, mounts, processes, a host name and cgroups of its own: what a node changes of its machine, it
# changes there. All that runs in a world ends with this process. Needs root, and the controllers of cgroup v1.

set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
name=$1 address=$2 folder=$3
controllers="cpu cpuacct cpuset memory devices freezer blkio pids"

if [ -z "${BRAID_WORLD:-}" ]; then
  # The world's view of each controller begins at a group of its own.
  for controller in $controllers; do
    group=/sys/fs/cgroup/$controller/$name
    mkdir -p "$group"
    if [ "$controller" = cpuset ]; then
      cat /sys/fs/cgroup/cpuset/cpuset.cpus > "$group/cpuset.cpus"
      cat /sys/fs/cgroup/cpuset/cpuset.mems > "$group/cpuset.mems"
    fi
    echo $$ > "$group/cgroup.procs"
  done
  export BRAID_WORLD=1
  exec unshare --mount --net --uts --ipc --cgroup --pid --fork --kill-child --propagation private bash "$0" "$@"
fi

hostname "$name"
mount -t proc proc /proc

# Settings of the kernel that a kubelet changes belong to the machine: here files stand in their places.
for key in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
  kernel/keys/root_maxbytes; do
  mkdir -p "$folder/sysctl/${key%/*}"
  cat "/proc/sys/$key" > "$folder/sysctl/$key"
  mount --bind "$folder/sysctl/$key" "/proc/sys/$key"
done

# The devices of this network, and the controllers as they begin here.
mkdir -p "$folder/sys"
mount -t sysfs sysfs "$folder/sys"
mount -t tmpfs -o mode=755 tmpfs "$folder/sys/fs/cgroup"
for controller in $controllers; do
  mkdir "$folder/sys/fs/cgroup/$controller"
  mount -t cgroup -o "$controller" cgroup "$folder/sys/fs/cgroup/$controller"
done
umount -R -l /sys
mount --move "$folder/sys" /sys

# Folders that a node writes. That of containerd must not lie on an overlay, since overlays do not stack.
for path in /var/lib/{kubelet,containerd,cni} /var/log/{pods,containers} /etc/{cni,containerd}; do
  mkdir -p "$path" "$folder/root$path"
  mount --bind "$folder/root$path" "$path"
done
mkdir -p /opt/cni/bin
mount --bind /usr/lib/cni /opt/cni/bin
mount -t tmpfs -o mode=755,size=64m tmpfs /run
mkdir /run/lock

# Containers see what the kubelet mounts for them.
mount --make-rshared /

ip link set lo up
# A hub may take the other end, and join several worlds.
ip link add node0 type veth peer name hub0
ip link set hub0 up
ip address add "$address/16" dev node0
ip link set node0 up
ip route add default dev node0
sysctl -q net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 net.ipv4.conf.all.route_localnet=1

echo ready
exec sleep infinity
