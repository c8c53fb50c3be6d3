/** `database a delete one`: a person orders, edits or deletes a branch of a database with kubectl, or takes its pod. */

import { Result } from "effect"
import { branchPodName } from "../../../../src/domain/branches/branch-name.ts"
import { originAnnotations, originLabel } from "../../../../src/domain/branches/sync/synced-branch.ts"
import { identityNamespace } from "../../../../src/domain/fleet/cluster-identity.ts"
import { at } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { namespaces, pods, secrets } from "../../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import { branchIdLabel, branchObject, migrations } from "../../world/branch-order.ts"
import { operatorNamespace } from "../../world/operator-replica.ts"
import { type BranchEngineWord, branchEngineWords, sourceSecret } from "../../world/source-databases.ts"
import type { SimCluster } from "../../world/world.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { StoryRun, Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

const namespace = "default"

/** Objects that are made, apart from those that clients order. */
const made = ["make", "make-foreign", "make-lost"] as const
/** An order of a Secret that the target does not read, or of a key of it, in the namespace where users order. */
const pried = "pry"
type SecretKey = Readonly<Record<"name" | "key", string>>
const priedSecrets: readonly [SecretKey, ...ReadonlyArray<SecretKey>] = [
  { name: "payroll", key: "key" },
  { name: sourceSecret, key: "admin" },
  { name: "mirrord-branch-values-guessed", key: "PASSWORD" }
]
/** Acts on a branch that is there. */
const acts = ["delete", "edit", "edit-ttl", "wipe-labels", "migrate", "evict", "forget-pod", "forget-secret"] as const

/** Merge patches of people. */
const edits: Readonly<Record<string, object>> = {
  // A branch of another database: the one that is there cannot become it.
  edit: { spec: { databaseName: "other" } },
  "edit-ttl": { spec: { ttlSecs: 90 } },
  "wipe-labels": { metadata: { labels: null } },
  migrate: { spec: { migrations } }
}
/** The second time there is one file more. */
const migrateOn = { spec: { migrations: { ...migrations, archive: "H4sIAAAA" } } }

/** The annotations of a copy: of another primary, or of this one whose origin nobody has. */
const marksOf = ({ world }: StoryRun, deed: (typeof made)[number]): object => {
  if (deed === "make") return {}
  const own = world.primary.server.objects.peek(namespaces, identityNamespace)?.metadata.uid ?? ""
  const annotations = {
    [originAnnotations.clusterUid]: deed === "make-lost" ? own : "another-primary",
    [originAnnotations.namespace]: namespace,
    [originAnnotations.uid]: `lost-at-${world.now}`,
    [originAnnotations.generation]: "1"
  }
  return { annotations, labels: { [originLabel]: world.plan.primary } }
}

const make = (
  run: StoryRun,
  { name, server: { objects } }: SimCluster,
  { deed, engine, id }: { readonly deed: (typeof made)[number]; readonly engine: BranchEngineWord; readonly id: string }
): void => {
  const wish = { engine, ttlSecs: 60, isLocal: false, image: undefined, isMigrated: false }
  const object = branchObject(wish, { id, namespace, targetNamespace: namespace })
  const marked = { ...object.metadata, ...marksOf(run, deed) }
  const labels = { ...object.metadata.labels, ...(marksOf(run, deed) as { readonly labels?: object }).labels }
  const metadata = { ...marked, labels }
  const answer = objects.create(branchDatabases, { ...object, metadata }, namespace, run.world.now)
  if (Result.isFailure(answer)) return nothingHappens(run, `${name} has a branch ${id} already`)
  run.fault(
    `branch ${deed}`,
    `somebody makes the branch ${id} in ${name}${deed === "make" ? "" : `, ${deed.slice(5)}`}`
  )
}

const pry = (run: StoryRun, { name, server: { objects } }: SimCluster, id: string): void => {
  const { kernel, now, plan, primary } = run.world
  const isManagementOnly = name === primary.name && !plan.clusters.some((cluster) => cluster.name === name)
  const place = isManagementOnly ? operatorNamespace : namespace
  const wish = { engine: "pg", ttlSecs: 60, isLocal: false, image: undefined, isMigrated: false } as const
  const object = branchObject(wish, { id, namespace: place, targetNamespace: namespace })
  const secret = kernel.random.split(`pry ${id} at ${now}`).pick(priedSecrets)
  const spec = { ...(object["spec"] as object), connectionSource: { url: { secret } } }
  const answer = objects.create(branchDatabases, { ...object, spec }, place, now)
  if (Result.isFailure(answer)) return nothingHappens(run, `${name} has a branch ${id} already`)
  run.fault("branch pry", `somebody orders the branch ${id} in ${name} of the Secret ${secret.name}`)
}

const act = (run: StoryRun, cluster: SimCluster, deed: (typeof acts)[number], branch: KubeObject): void => {
  const { kubelet, name, server } = cluster
  const { objects } = server
  const { metadata } = branch
  const id = metadata.labels?.[branchIdLabel] ?? metadata.name
  const podName = branchPodName(metadata)
  run.fault(`branch ${deed}`, `somebody does ${deed} to the branch ${id} of ${name}`)
  switch (deed) {
    case "delete": {
      const place = metadata.namespace === undefined ? {} : { namespace: metadata.namespace }
      return void objects.delete(branchDatabases, metadata.name, place, run.world.now)
    }
    case "evict": {
      const pod = objects.peek(pods, podName, metadata.namespace)
      if (pod !== undefined) kubelet.branches.evict(pod)
      return
    }
    case "forget-pod":
      return objects.erase(pods, podName, metadata.namespace)
    case "forget-secret":
      return objects.erase(secrets, podName, metadata.namespace)
    default: {
      const isMigratedOn = deed === "migrate" && at(branch, "spec", "migrations") !== undefined
      const edit = isMigratedOn ? migrateOn : (edits[deed] ?? {})
      objects.write(branchDatabases, metadata.name, edit, metadata.namespace)
    }
  }
}

/** The branch of an id, or any. */
const find = (run: StoryRun, { server }: SimCluster, id: string): KubeObject | undefined => {
  const all = server.objects.peekAll(branchDatabases)
  return id === "any"
    ? run.world.kernel.random.split(`database at ${run.world.now}`).pick(all)
    : all.find(({ metadata }) => metadata.labels?.[branchIdLabel] === id)
}

export const database: Verb = {
  name: "database",
  usage:
    `database <cluster> ${made.join("|")} <id> [${branchEngineWords.join("|")}] | database <cluster> ${pried} <id> | ` +
    `database <cluster> ${acts.join("|")} <id>|any`,
  summary:
    "A person makes the branch of an id in a cluster (make-foreign: as a copy of another primary, make-lost: as a " +
    "copy whose origin is gone; pry: of a Secret that its target does not read), deletes or changes one, or takes " +
    "its pod or its Secret away.",
  kind: "act",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, [...made, ...acts, pried])
      const id = yield* nameWord(third, "the id of a branch")
      const isMade = made.find((known) => known === deed)
      if (isMade !== undefined) {
        const engine = rest[0] === undefined ? "pg" : yield* oneOf(rest[0], branchEngineWords)
        yield* nothingMore(rest.slice(1))
        return (run) =>
          withCluster(run, cluster, (found) => {
            if (!run.world.plan.branches) return nothingHappens(run, "nobody makes branches here")
            make(run, found, { deed: isMade, engine, id })
          })
      }
      yield* nothingMore(rest)
      if (deed === pried) {
        return (run) =>
          withCluster(run, cluster, (found) => {
            if (!run.world.plan.branches) return nothingHappens(run, "nobody makes branches here")
            pry(run, found, id)
          })
      }
      const wanted = acts.find((known) => known === deed)
      return (run) =>
        withCluster(run, cluster, (found) => {
          const branch = find(run, found, id)
          if (branch === undefined || wanted === undefined)
            return nothingHappens(run, `there is no branch ${id} in ${cluster}`)
          act(run, found, wanted, branch)
        })
    }),
  random: {
    weight: 7,
    woven: "branches",
    line: ({ places, random }) => {
      const place = random.pick(places)
      if (random.chance(0.25)) return `database ${place} ${random.pick(made)} ${random.pick(["one", "two"])}`
      return `database ${place} ${random.pick(["delete", "delete", "delete", ...acts])} any`
    }
  }
}
