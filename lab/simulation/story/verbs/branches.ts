/** Verbs of branches of databases: deeds of people with kubectl, and what becomes of the pods of branches. */

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
import { branchFates } from "../../world/sim-branch-pods.ts"
import { type BranchEngineWord, branchEngineWords, sourceSecret } from "../../world/source-databases.ts"
import type { SimCluster } from "../../world/world.ts"
import { cases, choice, name, optional } from "../parts.ts"
import { cluster } from "../things.ts"
import { act, type StoryRun, type Verb } from "../verb.ts"

const namespace = "default"
/** Why nothing is made in a world without branches. */
export const noBranches = "nobody makes branches here"

/** Objects that are made, apart from those that clients order. */
const made = ["make", "make-foreign", "make-lost"] as const
type Made = (typeof made)[number]
/** Acts on a branch that is there. */
const acts = ["delete", "edit", "edit-ttl", "wipe-labels", "migrate", "evict", "forget-pod", "forget-secret"] as const
type Act = (typeof acts)[number]

type SecretKey = Readonly<Record<"name" | "key", string>>
/** Keys that the target does not read, in the namespace where users order. */
const priedSecrets: readonly [SecretKey, ...ReadonlyArray<SecretKey>] = [
  { name: "payroll", key: "key" },
  { name: sourceSecret, key: "admin" },
  { name: "mirrord-branch-values-guessed", key: "PASSWORD" }
]

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

const id = name("<id>", "the id of a branch")
const making = { id, engine: optional(choice(branchEngineWords)) }
const acting = { id: { ...id, usage: "<id>|any" } }

/** The marks of a copy: of another primary, or of this one whose origin is gone. */
const marksOf = ({ world }: StoryRun, deed: Made): { readonly annotations?: object; readonly labels?: object } => {
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

const orderOf = (engine: BranchEngineWord, branchId: string, place: string) =>
  branchObject(
    { engine, ttlSecs: 60, isLocal: false, image: undefined, isMigrated: false },
    { id: branchId, namespace: place, targetNamespace: namespace }
  )

const make = (
  run: StoryRun,
  { name: place, server: { objects } }: SimCluster,
  {
    engine = "pg",
    id: branchId,
    is
  }: { readonly is: Made; readonly engine?: BranchEngineWord | undefined; readonly id: string }
): string | void => {
  const object = orderOf(engine, branchId, namespace)
  const marks = marksOf(run, is)
  const metadata = { ...object.metadata, ...marks, labels: { ...object.metadata.labels, ...marks.labels } }
  const answer = objects.create(branchDatabases, { ...object, metadata }, namespace, run.world.now)
  if (Result.isFailure(answer)) return `${place} has a branch ${branchId} already`
  const kind = is === "make" ? "" : `, ${is.slice("make-".length)}`
  run.fault(`branch ${is}`, `somebody makes the branch ${branchId} in ${place}${kind}`)
}

const pry = (run: StoryRun, { name: cluster, server: { objects } }: SimCluster, branchId: string): string | void => {
  const { kernel, now, plan, primary } = run.world
  const isManagementOnly = cluster === primary.name && !plan.clusters.some(({ name: known }) => known === cluster)
  const place = isManagementOnly ? operatorNamespace : namespace
  const object = orderOf("pg", branchId, place)
  const secret = kernel.random.split(`pry ${branchId} at ${now}`).pick(priedSecrets)
  const spec = { ...(object["spec"] as object), connectionSource: { url: { secret } } }
  const answer = objects.create(branchDatabases, { ...object, spec }, place, now)
  if (Result.isFailure(answer)) return `${cluster} has a branch ${branchId} already`
  run.fault("branch pry", `somebody orders the branch ${branchId} in ${cluster} of the Secret ${secret.name}`)
}

/** The branch of an id, or any. */
const find = ({ world }: StoryRun, { server }: SimCluster, wanted: string): KubeObject | undefined => {
  const all = server.objects.peekAll(branchDatabases)
  return wanted === "any"
    ? world.kernel.random.split(`database at ${world.now}`).pick(all)
    : all.find(({ metadata }) => metadata.labels?.[branchIdLabel] === wanted)
}

const actOn = (
  run: StoryRun,
  place: SimCluster,
  { id: wanted, is: deed }: { readonly id: string; readonly is: Act }
): string | void => {
  const branch = find(run, place, wanted)
  if (branch === undefined) return `there is no branch ${wanted} in ${place.name}`
  const { objects } = place.server
  const { metadata } = branch
  const podName = branchPodName(metadata)
  const branchId = metadata.labels?.[branchIdLabel] ?? metadata.name
  run.fault(`branch ${deed}`, `somebody does ${deed} to the branch ${branchId} of ${place.name}`)
  switch (deed) {
    case "delete": {
      const where = metadata.namespace === undefined ? {} : { namespace: metadata.namespace }
      return void objects.delete(branchDatabases, metadata.name, where, run.world.now)
    }
    case "evict": {
      const pod = objects.peek(pods, podName, metadata.namespace)
      if (pod !== undefined) place.kubelet.branches.evict(pod)
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

export const branchVerbs: ReadonlyArray<Verb> = [
  act({
    name: "database",
    words: {
      cluster,
      deed: cases({
        make: making,
        "make-foreign": making,
        "make-lost": making,
        delete: acting,
        edit: acting,
        "edit-ttl": acting,
        "wipe-labels": acting,
        migrate: acting,
        evict: acting,
        "forget-pod": acting,
        "forget-secret": acting,
        pry: { id }
      })
    },
    summary:
      "A person makes the branch of an id in a cluster (make-foreign: as a copy of another primary, make-lost: as a " +
      "copy whose origin is gone; pry: of a Secret that its target does not read), deletes or changes one, or takes " +
      "its pod or its Secret away.",
    run: ({ cluster, deed }, run) => {
      switch (deed.is) {
        case "make":
        case "make-foreign":
        case "make-lost":
          return run.world.plan.branches ? make(run, cluster, deed) : noBranches
        case "pry":
          return run.world.plan.branches ? pry(run, cluster, deed.id) : noBranches
        default:
          return actOn(run, cluster, deed)
      }
    },
    random: {
      weight: 7,
      woven: "branches",
      line: ({ places, random }) => {
        const place = random.pick(places)
        if (random.chance(0.25)) return `database ${place} ${random.pick(made)} ${random.pick(["one", "two"])}`
        return `database ${place} ${random.pick(["delete", "delete", "delete", ...acts])} any`
      }
    }
  }),
  act({
    name: "engine",
    words: { cluster, fate: choice(branchFates) },
    summary:
      "The pods of branches that are made from now on in a cluster cannot copy, have no image, are killed for their " +
      "memory, or are slow, until they work again or `heal all`.",
    run: ({ cluster: { kubelet, name: place }, fate }, run) => {
      if (fate !== "works") run.fault(`engine ${fate}`, `new pods of branches in ${place}: ${fate}`)
      kubelet.branches.fate = fate
    },
    random: {
      weight: 3,
      woven: "branches",
      line: ({ clusters, random }) => `engine ${random.pick(clusters)} ${random.pick(branchFates)}`
    }
  })
]
