/**
 * L1 (failures.md §2.1). A user wants a part of the session in each well cluster, and the promised traffic from every
 * pod there. A port that several sessions ask for is left out: in each cluster the first session has it, and the others
 * are told; so is what a policy of a cluster forbids, if the user was told.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentName } from "../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../src/domain/sessions/session-id.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster, World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isLeaving, parentStatus, recordedChildren } from "./session-objects.ts"

const targetless = "targetless"

/** The pods of a cluster that a session's target names. */
const podsOf = ({ kubelet }: SimCluster, alias: string) =>
  kubelet.podsOf("myapp").filter(({ name }) => alias === "deployment.myapp" || alias === `pod.${name}`)

/**
 * Clusters that can take part: their operator and the target are there. A session without a target has no pod for an
 * ephemeral agent.
 */
const isAble = ({ plan }: World, cluster: SimCluster, alias: string): boolean =>
  !cluster.host.isGone &&
  cluster.host.serves &&
  (alias === targetless ? !plan.ephemeralAgents.includes(cluster.name) : podsOf(cluster, alias).length > 0)

/** The ports whose subscription the client heard of as accepted. */
const confirmedPorts = ({ state }: SimClient): ReadonlyArray<number> =>
  [...state.subscriptions].flatMap(([port, { confirmed }]) => (confirmed ? [port] : []))

/** By port: the clients that ever asked for the port. */
type Rivals = ReadonlyMap<number, ReadonlySet<string>>

/** Whether the user was told that an agent is too old for the subscription. */
const wasTold = ({ logs }: SimClient, port: number): boolean =>
  logs.some((log) => log.includes(`takes no part in the subscription of port ${port}: its agent speaks protocol`))

/** Whether the user was told that a policy of the cluster keeps the port, or the whole cluster, from the session. */
const isPoliced = ({ logs }: SimClient, cluster: string, port: number): boolean =>
  logs.some(
    (log) =>
      log.includes("mirrord policy") &&
      [
        `cluster ${cluster} takes no part in the session`,
        `cluster ${cluster} takes no part in the subscription of port ${port}`,
        `cluster ${cluster} refuses the subscription of port ${port}`
      ].some((words) => log.includes(words))
  )

const trafficProblems = (
  client: SimClient,
  cluster: SimCluster,
  alias: string,
  rivals: Rivals
): ReadonlyArray<string> =>
  confirmedPorts(client).flatMap((port) =>
    podsOf(cluster, alias).flatMap((pod) => {
      // Agents give a port to the client that asks last, and take it from all clients when that client leaves.
      const { name } = cluster
      if ((rivals.get(port)?.size ?? 0) > 1 || wasTold(client, port) || isPoliced(client, name, port)) return []
      const agent = cluster.kubelet.agents.find(({ containerId }) => containerId === pod.containerId)
      const has = agent !== undefined && agent.process.state === "running" && agent.agent.subscribedPorts.has(port)
      return has
        ? []
        : [
            `${client.name} has port ${port}, but ${agent === undefined ? "no agent" : "no subscription"} brings ` +
              `it the traffic of ${pod.name} in ${name}.`
          ]
    })
  )

const sessionProblems = (
  world: World,
  client: SimClient,
  parent: KubeObject,
  rivals: Rivals
): ReadonlyArray<string> => {
  const { name } = parent.metadata
  const { phase } = parentStatus(parent)
  const { defaultCluster, targetAlias: alias } = parent["spec"] as {
    readonly defaultCluster: string
    readonly targetAlias: string
  }
  const able = world.plan.clusters
    .filter((plan) => world.isInFleet(plan.name))
    .map((plan) => world.cluster(plan.name))
    .filter((cluster) => isAble(world, cluster, alias))
  if (!able.some((cluster) => cluster.name === defaultCluster)) return []
  if (phase !== "Ready") return [`${name} is ${phase ?? "without a phase"}, although its default cluster is well.`]
  const entries = new Map(recordedChildren(parent))
  const gone = [...entries].find(([cluster, { ready }]) => ready && !world.isInFleet(cluster))
  if (gone !== undefined) return [`${name} is ready in ${gone[0]}, which has left the fleet.`]
  return able.flatMap((cluster) => {
    const entry = entries.get(cluster.name)
    if (entry === undefined) return [`${name} has no child recorded for ${cluster.name}.`]
    if (!entry.ready)
      return [
        `${name} is not ready in ${cluster.name}, although that cluster is well: ` +
          `${entry.error ?? "no reason is given"}.`
      ]
    if (entry.error !== undefined)
      return [`${name} is ready in ${cluster.name} and has an error there: ${entry.error}.`]
    const child = cluster.server.objects.peek(mirrordClusterSessions, entry.sessionName)
    if (child === undefined)
      return [`${name} is ready in ${cluster.name}, but its child ${entry.sessionName} does not exist.`]
    const ready = conditionsOf(child).find(({ type }) => type === "Ready")
    if (ready?.status !== "True")
      return [`${name} is ready in ${cluster.name}, but its child there is not: ${ready?.message ?? "no condition"}.`]
    return client.isServing ? trafficProblems(client, cluster, alias, rivals) : []
  })
}

export const desiredIsActual: Invariant = {
  id: "L1",
  sentence: "Once all is well, each session has its part in every well cluster, and its traffic from there.",
  begin: (world) => {
    const rivals = new Map<number, Set<string>>()
    return {
      on: {
        ClientEvent: ({ client, event }) => {
          if (event._tag === "Subscribed") rivals.set(event.port, (rivals.get(event.port) ?? new Set()).add(client))
        }
      },
      atRest: (moment) => {
        const theWorld = world()
        // Without a primary there are no reports on the session, and the members end their parts.
        if (moment === "left" || theWorld.primary.host.isGone) return []
        return [...theWorld.clients.values()].flatMap((client) => {
          if (client.ended !== undefined) return []
          const parent = theWorld.primary.server.objects.peek(
            mirrordMultiClusterSessions,
            parentName(client.sessionId as SessionId)
          )
          // A client without a session is told so; L5 watches that.
          return parent === undefined || isLeaving(parent) || parentStatus(parent).phase === "Failed"
            ? []
            : sessionProblems(theWorld, client, parent, rivals)
        })
      }
    }
  }
}
