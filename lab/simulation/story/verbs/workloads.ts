/** Verbs of workloads and their pods, of nodes and agents, and of people who delete or change objects. */

import { pods } from "../../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import { nodesOf, type SimCluster } from "../../world/world.ts"
import { allOf, childOf, objectKinds, type ObjectKind, parentOf, refOf } from "../objects.ts"
import { after, cases, casesOr, choice, name, number, optional, oneWord } from "../parts.ts"
import { cluster, type Workload, workload } from "../things.ts"
import { act, type StoryRun, type Verb } from "../verb.ts"
import { versionWord } from "../words.ts"

/** The workload that sessions are on unless it is said. */
const usual = "myapp"
const podCount = number("<n>", "a number of pods")
const podDeeds = ["reschedule", "replace", "ready", "unready", "scale"] as const
const nodeDeeds = ["cut", "lost", "forgotten", "back"] as const

/**
 * Edits that people make, as merge patches. The garbage is what the CRD's schema lets pass; a real server refuses the
 * rest.
 */
const edits: Readonly<Record<string, Readonly<Record<"child" | "parent", object>>>> = {
  "wipe-status": { child: { status: null }, parent: { status: null } },
  "drop-labels": { child: { metadata: { labels: null } }, parent: { metadata: { labels: null } } },
  "drop-annotations": { child: { metadata: { annotations: null } }, parent: { metadata: { annotations: null } } },
  "drop-finalizers": { child: { metadata: { finalizers: null } }, parent: { metadata: { finalizers: null } } },
  "garbage-spec": {
    child: { spec: { namespace: "nowhere", target: null, multiClusterParentName: "nobody" } },
    parent: {
      spec: {
        namespace: "nowhere",
        targetAlias: "deployment.nothing",
        clusters: ["nowhere"],
        defaultCluster: "nowhere"
      }
    }
  },
  "garbage-status": {
    child: { status: { connectedTimestamp: "yesterday", closed: { reason: "Because", message: null } } },
    parent: {
      status: {
        phase: "Pending",
        connectedTimestamp: "yesterday",
        clusterSessions: { nowhere: { sessionName: "nothing", ready: true } }
      }
    }
  }
}
const editNames = Object.keys(edits)

const which = name("<session>|any", "a session's name, or any")
const ofSession = { which: optional(which) }
const edited = { which, edit: choice(editNames) }

/** The parent or child of a session, or any object of the kind. */
const find = ({ world }: StoryRun, place: SimCluster, kind: ObjectKind, of: string): KubeObject | undefined => {
  if (of === "any") return world.kernel.random.split(`kubectl at ${world.now}`).pick(allOf(place, kind))
  const client = world.clients.get(of)
  if (client === undefined) return undefined
  return kind === "parent" ? parentOf(place, client) : childOf(place, client)
}

const loseNode = (run: StoryRun, { kubelet, name }: SimCluster): string | void => {
  const { kernel, network } = run.world
  const pod = kernel.random.split(`node lost at ${run.world.now}`).pick(kubelet.podsOf(usual))
  if (pod === undefined) return `no pod of ${name} is ready`
  run.fault("node lost", `the node of ${pod.name} in ${name} is lost`)
  const agents = kubelet.agents.filter(({ containerId }) => containerId === pod.containerId)
  const lost = new Set(agents.map((agent) => `agent ${agent.name}`))
  for (const connection of network.between(name, nodesOf(name))) if (lost.has(connection.what)) connection.goSilent()
  kubelet.loseNode(pod)
}

const deleteCopy = (run: StoryRun, { kubelet, name, server }: SimCluster): string | void => {
  const copy = run.world.kernel.random.split(`meddle at ${run.world.now}`).pick(kubelet.copies)
  if (copy === undefined) return `there is no copy in ${name}`
  run.fault("copy deleted", `somebody deletes the copy ${copy.metadata.name} of ${name}`)
  server.objects.erase(pods, copy.metadata.name, copy.metadata.namespace)
}

/** Sets the number of pods of a workload, or deletes it. */
const change = (
  run: StoryRun,
  place: SimCluster,
  { kind, name }: Workload,
  count: number | undefined
): string | void => {
  const { kubelet } = place
  if (!kubelet.hasWorkload(kind, name)) return `there is no ${kind}/${name} in ${place.name}`
  if (count === undefined) {
    run.fault("workload deleted", `somebody deletes ${kind}/${name} of ${place.name}`)
    return kubelet.deleteOther(kind, name)
  }
  run.fault("workload scaled", `somebody scales ${kind}/${name} of ${place.name} to ${count}`)
  kubelet.scaleOther(kind, name, count)
}

export const workloadVerbs: ReadonlyArray<Verb> = [
  act({
    name: "agents",
    words: { cluster, version: after("version", oneWord("<v>", versionWord)) },
    summary: "The protocol version of agents that start from now on, 1.2.2 to 1.29.0.",
    run: ({ cluster: { kubelet }, version }) => {
      kubelet.agentVersion = version
    },
    random: {
      weight: 2,
      line: ({ clusters, random }) =>
        `agents ${random.pick(clusters)} version ${random.pick(["1.3.1", "1.12.0", "1.19.4", "1.24.0", "1.29.0"])}`
    }
  }),
  act({
    name: "images",
    words: { cluster, state: choice(["missing", "back"]) },
    summary: "Whether the nodes of a cluster can pull the agent's image.",
    run: ({ cluster: { kubelet, name }, state }, run) => {
      if (state === "missing") run.fault("image missing", `${name} cannot pull the agent's image`)
      kubelet.pullProblem = state === "missing" ? "manifest for agent:1 not found" : undefined
    },
    random: {
      weight: 2,
      line: ({ clusters, random }) => `images ${random.pick(clusters)} ${random.pick(["missing", "back"])}`
    }
  }),
  act({
    name: "pods",
    words: {
      cluster,
      deed: cases({ reschedule: {}, replace: {}, ready: {}, unready: {}, scale: { wanted: podCount } })
    },
    summary:
      "One pod of the workload goes and another starts, under a new name or the same; all are ready or not; so " +
      "many are wanted.",
    run: ({ cluster: { kubelet, name }, deed }, run) => {
      switch (deed.is) {
        case "reschedule":
          run.fault("pod rescheduled", `a pod of ${name} goes, and another starts`)
          return kubelet.reschedule(usual)
        case "replace":
          run.fault("pod replaced", `a pod of ${name} is replaced under its name`)
          return kubelet.replaceUnderSameName(usual)
        case "ready":
          return kubelet.setReady(usual, true)
        case "unready":
          run.fault("pods not ready", `the pods of ${name} are not ready`)
          return kubelet.setReady(usual, false)
        case "scale":
          run.fault("pods scaled", `${name} has ${deed.wanted} pods`)
          return kubelet.scale(usual, deed.wanted)
      }
    },
    random: {
      weight: 4,
      line: ({ clusters, random }) => {
        const deed = random.pick(podDeeds)
        return `pods ${random.pick(clusters)} ${deed}${deed === "scale" ? ` ${random.int(0, 3)}` : ""}`
      }
    }
  }),
  act({
    name: "canary",
    words: { cluster, wanted: podCount },
    summary:
      "deployment/myapp-canary has so many pods, which the selectors of deployment/myapp and service/web cover too; " +
      "both are made if they are not there.",
    run: ({ cluster: { kubelet }, wanted }) => kubelet.scaleCanary(wanted)
  }),
  act({
    name: "node",
    words: { cluster, deed: choice(nodeDeeds) },
    summary:
      "Nothing passes between an operator and its agents; or a pod's node is lost, in silence; or the API server " +
      "forgets a pod whose node runs on; back: lost nodes return, and everything passes.",
    run: ({ cluster, deed }, run) => {
      const { kubelet, name } = cluster
      const { network } = run.world
      const nodes = nodesOf(name)
      switch (deed) {
        case "cut":
          run.fault("nodes cut off", `nothing passes between the operator of ${name} and its agents`)
          network.cut(name, nodes)
          return network.cut(nodes, name)
        case "lost":
          return loseNode(run, cluster)
        case "forgotten":
          run.fault("pod forgotten", `the API server of ${name} forgets a pod whose node runs on`)
          return kubelet.forgetPod(usual)
        case "back":
          network.heal(name, nodes)
          network.heal(nodes, name)
          return kubelet.returnNodes()
      }
    },
    random: {
      weight: 10,
      ofNodes: true,
      line: ({ clusters, random }) => `node ${random.pick(clusters)} ${random.pick(nodeDeeds)}`
    }
  }),
  act({
    name: "kubectl",
    words: {
      cluster,
      deed: cases({
        delete: { of: cases({ child: ofSession, parent: ofSession, job: {}, pod: {} }) },
        edit: { of: cases({ child: edited, parent: edited }) }
      })
    },
    summary: "A person deletes or changes an object: a session's child or parent, an agent's Job or pod.",
    run: ({ cluster, deed: { is: deed, of } }, run) => {
      const kind = of.is
      const object = find(run, cluster, kind, ("which" in of ? of.which : undefined) ?? "any")
      if (object === undefined) return `there is no such ${kind} in ${cluster.name}`
      const { name, namespace } = object.metadata
      const { objects } = cluster.server
      const done = `kubectl ${"edit" in of ? of.edit : deed}`
      run.fault(done, `somebody does ${done} to ${kind} ${name} of ${cluster.name}`)
      if ("edit" in of) objects.write(refOf[kind], name, edits[of.edit]?.[of.is] ?? {}, namespace)
      else objects.delete(refOf[kind], name, namespace === undefined ? {} : { namespace }, run.world.now)
    },
    random: {
      weight: 5,
      line: ({ clusters, primary, random, sessions }) => {
        const kind = random.pick(objectKinds)
        const place = kind === "parent" ? primary : random.pick(clusters)
        if (kind === "job" || kind === "pod") return `kubectl ${place} delete ${kind}`
        const of = random.pick(sessions)
        if (of === undefined) return undefined
        return random.chance(0.4)
          ? `kubectl ${place} delete ${kind} ${of}`
          : `kubectl ${place} edit ${kind} ${of} ${random.pick(editNames)}`
      }
    }
  }),
  act({
    name: "meddle",
    words: {
      cluster,
      deed: cases({ delete: { what: casesOr({ copy: {} }, { workload }) }, scale: { workload, count: podCount } })
    },
    summary: "A person deletes a copy's pod, deletes a workload, or sets its number of pods.",
    run: ({ cluster, deed }, run) => {
      if (deed.is === "scale") return change(run, cluster, deed.workload, deed.count)
      return deed.what.is === "copy" ? deleteCopy(run, cluster) : change(run, cluster, deed.what.workload, undefined)
    },
    random: {
      weight: 4,
      woven: "copies",
      line: ({ clusters, random }) => {
        const target = random.pick(["deployment/myapp", "statefulset/db"])
        const deed = (): string => {
          if (random.chance(0.4)) return "delete copy"
          return random.chance(0.8) ? `scale ${target} ${random.int(0, 3)}` : `delete ${target}`
        }
        const drawn = deed()
        return `meddle ${random.pick(clusters)} ${drawn}`
      }
    }
  })
]
