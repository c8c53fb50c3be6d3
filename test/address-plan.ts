/**
 * The networks `127.<n>.0.0/16` of the machine by user, since test files run at the same time and each address can be
 * bound once: the first `n`, and how many. A cluster needs one for its pods, a real cluster also one for its Services.
 */
const networks = {
  "the playground, unless told otherwise": [40, 6],
  "playground, management": [20, 3],
  "playground, primary-default": [24, 2],
  "playground, outbound": [240, 3],
  "playground, kubernetes, outbound": [243, 6],
  "real client, outbound": [249, 3],
  "playground, branches": [46, 4],
  "playground, queues": [80, 6],
  "real client, agents of earlier releases": [28, 4],
  "real client, further commands": [34, 2],
  "recorded client": [93, 3],
  "recorded client, played": [187, 3],
  "playground, kubernetes": [50, 6],
  "fuzz, unless told otherwise": [60, 2],
  screenshots: [154, 4],
  fuzz: [64, 2],
  "real client, management": [70, 3],
  "real client, labels": [86, 2],
  "real client, policies": [158, 3],
  "Services of control planes without a proxy: nobody listens": [96, 1],
  "real client, failures": [100, 3],
  "real client, bad input": [110, 3],
  "rights of the chart, management": [114, 3],
  "rights of the chart, primary-default": [118, 2],
  "rights of the chart, ephemeral agents": [185, 2],
  "real client, kubernetes": [36, 4],
  "real client, failover": [126, 3],
  "release on kubernetes": [130, 4],
  "limits of the chart": [144, 3],
  "memory of operators": [148, 3],
  "real client, copies": [152, 2],
  "real client, copies over many clusters": [182, 2],
  "real client, behaviour": [162, 3],
  "real client, ends of sessions": [166, 3],
  "real client, features": [170, 4],
  "real client, certificates": [174, 3],
  "braid doctor": [56, 3],
  "braid ui": [103, 4],
  "braid usage": [107, 3],
  branches: [88, 2],
  "branches without end": [62, 2],
  "real client, branches": [66, 3],
  "real client, branches at a member": [76, 4],
  "real client, branches of other engines": [16, 3],
  "branches on kubernetes": [177, 3],
  "splits of queues": [90, 2],
  "real client, queues over many clusters": [190, 2],
  "copies of databases": [97, 1],
  "clusters that join": [73, 3],
  "clusters that join, kubernetes": [10, 6],
  "a member that is away, kubernetes": [193, 6],
  "a member behind a NAT, kubernetes": [134, 6],
  "requests of people, kubernetes": [4, 6],
  "claimed subnets": [98, 1],
  "kubelet, pod network and probes": [200, 40]
} as const satisfies Readonly<Record<string, readonly [first: number, count: number]>>

export type NetworkUser = keyof typeof networks
export const networkUsers: ReadonlyArray<NetworkUser> = Object.keys(networks) as ReadonlyArray<NetworkUser>

export const networksOf = (user: NetworkUser): ReadonlyArray<number> => {
  const [first, count] = networks[user]
  return Array.from({ length: count }, (_, index) => first + index)
}

/** The first network of a user; the others follow it. */
export const subnetOf = (user: NetworkUser): number => networks[user][0]
