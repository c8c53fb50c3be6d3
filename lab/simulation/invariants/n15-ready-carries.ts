/**
 * N15 (failures.md §3.16, §4.32). A session that says Ready can carry a request: each agent that it holds runs,
 * answers, and works on a pod that exists. Looks at the world itself and not at the operator's pings, every few seconds
 * of virtual time while something is wrong with agents; an operator that cannot write its status is excused.
 */

import { isCopy } from "../../../src/domain/copies/copy-record.ts"
import { isObject } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { nodesOf, type SimCluster, type World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isLeaving, jobsOf, recordedChildren } from "./session-objects.ts"

/** How long a session may say Ready although it carries nothing, ms: within that time it has another agent. */
const grace = 60_000
/** Time between two looks, ms. */
const lookEvery = 5_000
/** How long after its last trouble a cluster is looked at, ms. */
const troubleLasts = 180_000

const saysReady = (object: KubeObject): boolean =>
  !isLeaving(object) && conditionsOf(object).some(({ status, type }) => type === "Ready" && status === "True")

const hasContainer = (pod: KubeObject, id: string): boolean => {
  const { status } = pod
  const statuses = isObject(status) && Array.isArray(status["containerStatuses"]) ? status["containerStatuses"] : []
  return statuses.some((container) => isObject(container) && container["containerID"] === `containerd://${id}`)
}

const isOfCopy = ({ spec }: KubeObject): boolean => isObject(spec) && isObject(spec["copyTarget"])

/** All that keeps a session's agents from carrying a request now, by the agent that it is about. */
const obstacles = (world: World, cluster: SimCluster, session: KubeObject): ReadonlyMap<string, string> => {
  const { kubelet, name, server } = cluster
  const owned = jobsOf(cluster, session)
  const all = server.objects.peekAll(pods)
  const podNames = new Set(
    all.flatMap(({ metadata }) => (owned.has(metadata.labels?.["job-name"] ?? "") ? [metadata.name] : []))
  )
  // An agent without a connection is none of the session's any more: no client waits for it, and it ends by itself.
  // Nothing says whose an ephemeral agent is: all sessions of a cluster share the few of its workload, or of a copy. As
  // no caller can end such a container, one that hangs counts as long as its operator has not given it up.
  const copies = new Set(all.flatMap(({ metadata }) => (isCopy(metadata) ? [metadata.name] : [])))
  const kept = new Set(world.network.connections.flatMap(({ isKept, what }) => (isKept() ? [what] : [])))
  const agents = kubelet.agents.filter(({ agent, name: pod, within }) => {
    if (agent.clients === 0) return false
    return within === undefined
      ? podNames.has(pod)
      : copies.has(within.pod) === isOfCopy(session) && kept.has(`agent ${pod}`)
  })
  const found = new Map<string, string>()
  if (agents.length === 0) found.set("none", "it has no agent that runs")
  const nodes = nodesOf(name)
  const isCut = !world.network.isOpen(name, nodes) || !world.network.isOpen(nodes, name)
  for (const { containerId, name: agent, process } of agents) {
    if (isCut) found.set(agent, `nothing passes between the operator and its agent ${agent}`)
    else if (process.state !== "running") found.set(agent, `its agent ${agent} hangs`)
    else if (containerId !== undefined && !all.some((pod) => hasContainer(pod, containerId)))
      found.set(agent, `its agent ${agent} works on a pod that is gone`)
  }
  return found
}

/** Whether the operator of a cluster can see its agents' state and write what it knows. */
const canTell = (world: World, { host, server }: SimCluster): boolean =>
  host.isWell &&
  server.isWell &&
  !host.isGone &&
  !host.isRollingOut &&
  (!host.isElected || world.network.isWell) &&
  world.faultPlans.every(({ isOver }) => isOver?.() === true)

/** Whether a parent says Ready although its part in its default cluster does not, and its operator can know that. */
const isAhead = (world: World, parent: KubeObject): boolean => {
  const { network, primary } = world
  const { defaultCluster = "" } = (parent["spec"] ?? {}) as { readonly defaultCluster?: string }
  const cluster = world.clusters.get(defaultCluster)
  if (cluster === undefined || !saysReady(parent)) return false
  const entry = recordedChildren(parent).find(([name]) => name === defaultCluster)?.[1]
  const child = entry && cluster.server.objects.peek(mirrordClusterSessions, entry.sessionName)
  if (child !== undefined && saysReady(child)) return false
  return (
    [primary, cluster].every((one) => canTell(world, one)) &&
    network.isPrompt(primary.name, cluster.name) &&
    network.isPrompt(cluster.name, primary.name)
  )
}

export const readyCarries: Invariant = {
  id: "N15",
  sentence: "A session that says Ready can carry a request.",
  begin: (world) => {
    /** By cluster: until when it is looked at. */
    const troubled = new Map<string, number>()
    /** Since when each obstacle is there: `<cluster> <session> <what>`. */
    const since = new Map<string, number>()
    let lookAt = 0
    const forget = (prefix: string): void => {
      for (const key of since.keys()) if (key.startsWith(prefix)) since.delete(key)
    }
    /** Notes an obstacle; a sentence if it has been there for too long. */
    const tooLong = (key: string, now: number, what: string): string | undefined => {
      const from = since.get(key) ?? now
      since.set(key, from)
      return now - from > grace ? `${what}, since ${Math.round((now - from) / 1000)} s.` : undefined
    }
    const lookAtChildren = (cluster: SimCluster, now: number): string | undefined => {
      const theWorld = world()
      if (!canTell(theWorld, cluster)) return forget(`${cluster.name} `) as undefined
      const present = new Set<string>()
      let broken: string | undefined
      for (const child of cluster.server.objects.peekAll(mirrordClusterSessions)) {
        const { name, uid } = child.metadata
        for (const [what, sentence] of obstacles(theWorld, cluster, child)) {
          const key = `${cluster.name} ${uid} ${what}`
          present.add(key)
          const found = tooLong(key, now, `${name} in ${cluster.name} says Ready, but ${sentence}`)
          if (saysReady(child)) broken ??= found
        }
      }
      for (const key of since.keys()) if (key.startsWith(`${cluster.name} `) && !present.has(key)) since.delete(key)
      return broken
    }
    const lookAtParents = (now: number): string | undefined => {
      for (const parent of world().primary.server.objects.peekAll(mirrordMultiClusterSessions)) {
        const key = `parent ${parent.metadata.uid}`
        const what = `${parent.metadata.name} says Ready, but its part in its default cluster does not`
        const found = isAhead(world(), parent) ? tooLong(key, now, what) : void since.delete(key)
        if (found !== undefined) return found
      }
      return undefined
    }
    return {
      each: (event) => {
        if (event._tag === "Operator") forget(`${event.cluster} `)
        if (event._tag === "AgentEnded") troubled.set(event.cluster, event.at + troubleLasts)
        if (event._tag === "Fault")
          for (const name of world().clusters.keys()) troubled.set(name, event.at + troubleLasts)
        if (event.at < lookAt || troubled.size === 0) return undefined
        lookAt = event.at + lookEvery
        for (const [name, until] of troubled) {
          const cluster = world().cluster(name)
          if (!cluster.kubelet.isWell || !world().network.isWell) troubled.set(name, event.at + troubleLasts)
          else if (event.at > until) {
            troubled.delete(name)
            forget(`${name} `)
          }
          const broken = lookAtChildren(cluster, event.at)
          if (broken !== undefined) return broken
        }
        return lookAtParents(event.at)
      }
    }
  }
}
