/**
 * The command `braid branches`: finds the branches of databases that a person may see, in the chosen cluster and in
 * members of a primary for which the kubeconfig has contexts.
 *
 * Not here: the rows of the table (domain/commands/overview/branch-row.ts).
 */

import { Clock, Effect, Result } from "effect"
import {
  branchCells,
  branchHeader,
  branchRow,
  type BranchRow,
  branchRows
} from "../../../domain/commands/overview/branch-row.ts"
import { textTable } from "../../../domain/commands/overview/text-table.ts"
import { branchDatabases } from "../../../domain/resources/branches/branch-database.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { unanswered, type Unanswered } from "./ask-cluster.ts"
import { type ReadableCluster, type ReadableClusters, readableClusters } from "./readable-clusters.ts"
import { type Output, tell, type Told } from "./tell.ts"

interface NamespaceChoice {
  /** The only namespace to read. */
  readonly namespace: string | undefined
  /** Whether it is a failure if not all namespaces may be read. */
  readonly allNamespaces: boolean
}
export type BranchesChoice = KubeConfigChoice & NamespaceChoice

interface Found {
  readonly rows: ReadonlyArray<BranchRow>
  /** The parts that the rows leave out, each as a sentence. */
  readonly notes: ReadonlyArray<string>
}

interface Objects {
  readonly items: ReadonlyArray<KubeObject>
  readonly notes: ReadonlyArray<string>
}

const object = "branches (branchdatabases.dbs.mirrord.metalbear.co)"

/** The branches of one namespace, or of all; a cluster without the kind has none. */
const list = (api: KubeApi, namespace?: string): Effect.Effect<ReadonlyArray<KubeObject>, KubeError> =>
  api.list(branchDatabases, namespace === undefined ? {} : { namespace }).pipe(
    Effect.map(({ items }) => items),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(error)))
  )

/** Those of the namespaces that a user knows, who may not list all. */
const listKnown = Effect.fnUntraced(function* (
  { api, name }: ReadableCluster,
  namespaces: ReadonlySet<string>
): Effect.fn.Return<Objects, KubeError> {
  const listed = yield* Effect.forEach(namespaces, (namespace) =>
    Effect.map(Effect.result(list(api, namespace)), (result) => ({ namespace, result }))
  )
  const read = listed.flatMap(({ namespace, result }) =>
    Result.isSuccess(result) ? [{ namespace, items: result.success }] : []
  )
  const [failure] = listed.flatMap(({ result }) => (Result.isFailure(result) ? [result.failure] : []))
  if (read.length === 0 && failure !== undefined) return yield* Effect.fail(failure)
  const known = read.map(({ namespace }) => namespace).join(" and ")
  return {
    items: read.flatMap(({ items }) => items),
    notes: [
      `you may not list the branches of all namespaces of ${name}: those of ${known} are shown; braid branches ` +
        "--namespace NAME shows those of another one"
    ]
  }
})

const objectsOf = (
  cluster: ReadableCluster,
  choice: NamespaceChoice,
  operatorNamespace: string | undefined
): Effect.Effect<Objects, KubeError> => {
  const { allNamespaces, namespace } = choice
  const all = Effect.map(list(cluster.api, namespace), (items) => ({ items, notes: [] }))
  if (namespace !== undefined || allNamespaces) return all
  const known = new Set([cluster.namespace, operatorNamespace ?? cluster.namespace])
  return all.pipe(
    Effect.catch((error) => (error.reason === "Forbidden" ? listKnown(cluster, known) : Effect.fail(error)))
  )
}

const foundIn = ({ name }: ReadableCluster, { items, notes }: Objects): Found => {
  const read = items.map((item) => ({ item, result: readResource(branchDatabases, item) }))
  return {
    rows: read.flatMap(({ result }) => (Result.isSuccess(result) ? [branchRow(name, result.success)] : [])),
    notes: [
      ...notes,
      ...read.flatMap(({ item, result }) =>
        Result.isSuccess(result)
          ? []
          : [`BranchDatabase ${item.metadata.name} of ${name} is left out: ${result.failure.message}`]
      )
    ]
  }
}

const json = ({ copyUid: _copy, expiresAt, reason, sessions: _sessions, uid: _uid, ...row }: BranchRow): object => ({
  ...row,
  ...(expiresAt === undefined ? {} : { expiresAt: timestamp(expiresAt) }),
  ...(reason === undefined ? {} : { reason })
})

/** The branches that a person may see in some clusters, the first of which is the chosen one. */
export const readBranches = (
  { clusters, notes, operatorNamespace }: Pick<ReadableClusters, "clusters" | "notes" | "operatorNamespace">,
  choice: NamespaceChoice
): Effect.Effect<Found, Unanswered> =>
  Effect.gen(function* () {
    const found = yield* Effect.forEach(
      clusters,
      (cluster, index) => {
        const own = index === 0
        return objectsOf(cluster, choice, own ? operatorNamespace : undefined).pipe(
          Effect.map((objects) => foundIn(cluster, objects)),
          Effect.mapError((error) => unanswered(error, object)),
          Effect.catch((problem) =>
            own
              ? Effect.fail(problem)
              : Effect.succeed({ rows: [], notes: [`${cluster.name} is left out. ${problem.message}`] })
          )
        )
      },
      { concurrency: "unbounded" }
    )
    return {
      rows: branchRows(found.flatMap((each) => each.rows)),
      notes: [...notes, ...found.flatMap((each) => each.notes)]
    }
  })

/** Every branch that a person may see from the chosen cluster. */
export const findBranches = Effect.fnUntraced(function* (choice: BranchesChoice): Effect.fn.Return<Told, Unanswered> {
  if (choice.namespace !== undefined && choice.allNamespaces)
    return yield* Effect.fail({
      message: "--namespace and --all-namespaces exclude each other.",
      fix: "Leave one of them out."
    })
  const { notes, rows } = yield* Effect.scoped(
    Effect.flatMap(readableClusters(choice, undefined), (clusters) => readBranches(clusters, choice))
  )
  const now = yield* Clock.currentTimeMillis
  const lines =
    rows.length === 0
      ? ["There are no branches."]
      : textTable([branchHeader, ...rows.map((row) => branchCells(row, now))])
  return { lines, notes, value: rows.map(json) }
})

export const runBranches = ({
  output,
  ...choice
}: BranchesChoice & { readonly output: Output }): Effect.Effect<number> => tell(output, findBranches(choice))
