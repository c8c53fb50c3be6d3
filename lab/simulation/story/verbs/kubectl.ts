/** `kubectl a delete child s1`: a person deletes or damages an object by hand. */

import { Result } from "effect"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import type { SimCluster } from "../../world/world.ts"
import { allOf, childOf, objectKinds, type ObjectKind, parentOf, refOf } from "../objects.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { StoryRun, Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

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

/** The parent or child of a session, or any object of the kind. */
const find = (run: StoryRun, cluster: SimCluster, kind: ObjectKind, which: string): KubeObject | undefined => {
  if (which === "any") return run.world.kernel.random.split(`kubectl at ${run.world.now}`).pick(allOf(cluster, kind))
  const client = run.world.clients.get(which)
  if (client === undefined) return undefined
  return kind === "parent" ? parentOf(cluster, client) : childOf(cluster, client)
}

export const kubectl: Verb = {
  name: "kubectl",
  usage:
    "kubectl <cluster> delete child|parent|job|pod [<session>|any] | kubectl <cluster> edit child|parent " +
    `<session>|any ${editNames.join("|")}`,
  summary: "A person deletes or changes an object: a session's child or parent, an agent's Job or pod.",
  kind: "act",
  read: ([first, second, third, fourth, ...rest]) =>
    Result.gen(function* () {
      const name = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, ["delete", "edit"])
      const kind = deed === "delete" ? yield* oneOf(third, objectKinds) : yield* oneOf(third, ["child", "parent"])
      const which =
        deed === "delete" && fourth === undefined ? "any" : yield* nameWord(fourth, "a session's name, or any")
      if (which !== "any" && (kind === "job" || kind === "pod"))
        return yield* Result.fail(`${JSON.stringify(which)} is too much: of jobs and pods, any one is meant`)
      const edit = deed === "edit" ? yield* oneOf(rest[0], editNames) : undefined
      yield* nothingMore(edit === undefined ? rest : rest.slice(1))
      return (run) =>
        withCluster(run, name, (cluster) => {
          const object = find(run, cluster, kind, which)
          if (object === undefined) return nothingHappens(run, `there is no such ${kind} in ${name}`)
          const { metadata } = object
          const { objects } = cluster.server
          run.fault(
            `kubectl ${edit ?? deed}`,
            `somebody does kubectl ${edit ?? deed} to ${kind} ${metadata.name} of ${name}`
          )
          if (edit === undefined) {
            objects.delete(
              refOf[kind],
              metadata.name,
              metadata.namespace === undefined ? {} : { namespace: metadata.namespace },
              run.world.now
            )
            return
          }
          objects.write(
            refOf[kind],
            metadata.name,
            edits[edit]?.[kind === "parent" ? "parent" : "child"] ?? {},
            metadata.namespace
          )
        })
    }),
  random: {
    weight: 5,
    line: ({ clusters, primary, random, sessions }) => {
      const kind = random.pick(objectKinds)
      const cluster = kind === "parent" ? primary : random.pick(clusters)
      if (kind === "job" || kind === "pod") return `kubectl ${cluster} delete ${kind}`
      const which = random.pick(sessions)
      if (which === undefined) return undefined
      return random.chance(0.4)
        ? `kubectl ${cluster} delete ${kind} ${which}`
        : `kubectl ${cluster} edit ${kind} ${which} ${random.pick(editNames)}`
    }
  }
}
