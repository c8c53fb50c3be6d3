import { primaryUser } from "../../lab/playground/kubernetes/kubernetes-playground.ts"
import type { AnyPlayground, AnyRunningCluster } from "../../lab/playground/local-cluster.ts"
import { outsideOf, resourceCalls } from "./audited-calls.ts"

const accounts = "system:serviceaccount:mirrord:"
const operator = `${accounts}mirrord-operator`

/** From the start of a program until it is ready, epoch ms. */
export interface StartTime {
  readonly from: number
  readonly until: number
}

export interface UnexpectedCallsOptions {
  /** Epoch ms; all from the beginning unless given. */
  readonly since?: number
  /** Epoch ms by the name of a cluster, where somebody then took the operators' rights away. */
  readonly until?: ReadonlyMap<string, number>
  /**
   * By the name of a cluster: when its API server was started again. A real one serves requests before it has read its
   * roles, and refuses them all until then.
   */
  readonly starts?: ReadonlyMap<string, ReadonlyArray<StartTime>>
  /** Whether `braid doctor` looks at the clusters as the operators do (`helm test`). */
  readonly runsDoctor?: boolean
  /** Whether branches of databases are switched on. */
  readonly hasBranches?: boolean
  /** Whether queues are split. */
  readonly splitsQueues?: boolean
  /** Whether agents speak TLS. */
  readonly hasAgentTls?: boolean
  /** Whether agents are ephemeral containers. */
  readonly hasEphemeralAgents?: boolean
  /** Whether operators refuse sessions to primaries, as policies tell them. Such a refusal is no lack of a right. */
  readonly refusesSessions?: boolean
}

const takesTunnels = (clusters: AnyPlayground["clusters"]): boolean =>
  clusters.some(({ description }) => description.dialsOut)

/** Tables of `calls/` by user, of those who call a cluster's API server for operators. */
const tablesOf = (
  { clusters, primary }: AnyPlayground,
  running: AnyRunningCluster,
  options: UnexpectedCallsOptions
): Readonly<Record<string, ReadonlyArray<string>>> => {
  const { hasAgentTls = false, hasBranches = false, hasEphemeralAgents = false } = options
  const { runsDoctor = false, splitsQueues = false } = options
  const roles = [
    ...(running.description === primary.description ? ["primary-management-only"] : []),
    ...(running.description.hasWorkload ? ["operator-with-workloads"] : [])
  ]
  const copies = running.description.hasWorkload ? ["operator-with-copies"] : []
  const isDefaultElsewhere = hasBranches && !primary.description.isDefault
  const branches = [
    ...(running.description.hasWorkload && hasBranches ? ["operator-with-branches"] : []),
    ...(running.description === primary.description && isDefaultElsewhere ? ["primary-with-branches"] : [])
  ]
  const orders = isDefaultElsewhere && running.description.isDefault ? ["primary-with-branches-at-the-default"] : []
  const queues = [
    ...(running.description.hasWorkload && splitsQueues ? ["operator-with-queues"] : []),
    ...(running.description === primary.description && splitsQueues ? ["primary-with-queues"] : [])
  ]
  const configurations = splitsQueues ? ["primary-with-queues-at-a-member"] : []
  const ephemeral = running.description.hasWorkload && hasEphemeralAgents ? ["operator-with-ephemeral-agents"] : []
  const agentTls = running.description.hasWorkload && hasAgentTls ? ["operator-with-agent-tls"] : []
  const { dialsOut, isPrimary } = running.description
  const tunnels = [
    ...(isPrimary && takesTunnels(clusters) ? ["primary-with-tunnels"] : []),
    ...(dialsOut ? ["operator-that-dials-out", "primary-at-a-member", ...orders, ...configurations] : [])
  ]
  // Everybody may review what he may do; who may not read the operator's object asks its discovery instead.
  const doctor = runsDoctor ? ["doctor"] : []
  return {
    [operator]: [
      ...roles,
      ...copies,
      ...branches,
      ...queues,
      ...(roles.length === 2 ? ["primary-with-workloads"] : []),
      ...agentTls,
      ...tunnels,
      ...ephemeral,
      ...doctor
    ],
    [`${accounts}mirrord-operator-envoy`]: ["primary-at-a-member", ...orders, ...configurations, ...doctor],
    [primaryUser]: ["primary-at-a-member", ...orders, ...configurations, ...doctor],
    [`${accounts}mirrord-hooks`]: ["hooks-with-copies"]
  }
}

/** A primary's connect to a session of a member. */
const isConnect = (path: string): boolean =>
  /^\/apis\/operator\.metalbear\.co\/v1\/proxy\/.*[?&]connect=true/.test(path)

/**
 * Calls that operators were refused, and calls that are in no table of `calls/`, so that nobody knows whether the chart
 * gives the right.
 */
export const unexpectedCalls = (
  playground: AnyPlayground,
  options: UnexpectedCallsOptions = {}
): ReadonlyArray<string> => {
  const { refusesSessions = false, since = 0, until = new Map() } = options
  return playground.clusters.flatMap((running) => {
    const { cluster, description } = running
    const calls = cluster
      .callers()
      .filter((call) => call.at >= since && call.at < (until.get(description.name) ?? Infinity))
    const isStarting = (at: number): boolean =>
      options.starts?.get(description.name)?.some((start) => at >= start.from && at <= start.until) === true
    return Object.entries(tablesOf(playground, running, options)).flatMap(([user, tables]) => {
      const own = calls.filter((call) => call.user === user)
      return [
        ...(user === operator && own.length === 0 ? ["has called nothing"] : []),
        ...own
          .filter(({ at, path, status }) => status === 403 && !(refusesSessions && isConnect(path)) && !isStarting(at))
          .map(({ method, path }) => `was refused ${method} ${path}`),
        ...outsideOf(tables, resourceCalls(own)).map((row) => `is in no table: ${row}`)
      ].map((text) => `${description.name}: ${user} ${text}`)
    })
  })
}
