/** The programs of the machine that pods, agents and tests of stealing need. */

const sbin = (name: string): string => `/usr/sbin/${name}`

export const tools = {
  ip: sbin("ip"),
  nsenter: "/usr/bin/nsenter",
  setpriv: "/usr/bin/setpriv",
  sh: "/bin/sh",
  unshare: "/usr/bin/unshare",
  // The agent calls both kinds under these paths before it settles on one.
  nft: sbin("iptables-nft"),
  nft6: sbin("ip6tables-nft"),
  legacy: sbin("iptables-legacy"),
  legacy6: sbin("ip6tables-legacy"),
  nftSave: sbin("iptables-nft-save"),
  nftSave6: sbin("ip6tables-nft-save"),
  legacySave: sbin("iptables-legacy-save"),
  legacySave6: sbin("ip6tables-legacy-save"),
  conntrack: sbin("conntrack"),
  ss: "/usr/bin/ss"
} as const

/** The search path of a container whose image says none. */
export const containerPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
