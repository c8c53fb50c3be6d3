import { Effect, Layer, Result } from "effect"
import type { BranchDirectory, UsableBranch } from "../../../src/app/branches/branch-directory.ts"
import { Branches } from "../../../src/app/branches/branches.ts"
import { branchLayer } from "../../../src/app/branches/cluster-branches.ts"
import { branchSyncLayer } from "../../../src/app/branches/sync/branch-sync-capability.ts"
import { copyLayer } from "../../../src/app/copies/copy-target-capability.ts"
import type { OperatorServices, OperatorCapabilities } from "../../../src/app/operator/capabilities.ts"
import { policyLayer } from "../../../src/app/policies/policy-capability.ts"
import { tlsLayer } from "../../../src/app/policies/tls-capability.ts"
import type { QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { splitLayer } from "../../../src/app/queues/split-capability.ts"
import { OwnCluster } from "../../../src/app/services/own-cluster.ts"
import { memberLayer } from "../../../src/app/sessions/member/member-capability.ts"
import { primaryLayer } from "../../../src/app/sessions/primary/primary-capability.ts"
import { usageLayer } from "../../../src/app/usage/usage-capability.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { sessionBranch, variable } from "../../domain/branches/session-branch.ts"

/** Branches in memory, in place of their controller. */
export interface MemoryBranches extends BranchDirectory {
  /** By name, whatever the namespace. */
  readonly branches: Map<string, UsableBranch>
  /** The uses and releases, in order. */
  readonly log: Array<string>
  /** Makes every recording of a use fail. */
  isBroken: boolean
  isRead: boolean
}

/** A branch that is ready, of the database to which `DATABASE_URL` leads. */
export const readyBranch = (
  name: string,
  change: Partial<UsableBranch> = {},
  source: BranchDatabaseSpec["connectionSource"] = { url: variable("DATABASE_URL") }
): UsableBranch => {
  const { access, request } = sessionBranch(source)
  return {
    uid: `uid of ${name}`,
    namespace: "default",
    name,
    phase: "Ready",
    isBeingDeleted: false,
    request: Result.succeed(request),
    access,
    sessions: [],
    ...change
  }
}

export const memoryBranches = (...given: ReadonlyArray<UsableBranch>): MemoryBranches => {
  const branches = new Map(given.map((branch) => [branch.name, branch]))
  const log: Array<string> = []
  const written = ({ name, uid }: UsableBranch, change: (sessions: ReadonlyArray<string>) => ReadonlyArray<string>) => {
    const branch = branches.get(name)
    if (branch?.uid === uid) branches.set(name, { ...branch, sessions: change(branch.sessions) })
  }
  const made: MemoryBranches = {
    branches,
    log,
    isBroken: false,
    caches: [],
    started: Effect.suspend(() => (made.isRead ? Effect.void : Effect.never)),
    isRead: true,
    find: (namespace, name) => {
      const branch = branches.get(name)
      return branch?.namespace === namespace ? branch : undefined
    },
    await: ({ name }, sessionId) => Effect.sync(() => void log.push(`${name} awaits ${sessionId}`)),
    isUsedBy: (sessionId) => [...branches.values()].some(({ sessions }) => sessions.includes(sessionId)),
    use: (branch, { sessionId, user }) =>
      Effect.suspend(() => {
        if (made.isBroken) {
          const detail = "the server is full"
          return Effect.fail(new KubeError({ cluster: "a", operation: "patch", reason: "Other", code: 500, detail }))
        }
        log.push(`${sessionId} of ${user.k8sUsername} uses ${branch.name}`)
        written(branch, (sessions) => [...sessions, sessionId])
        return Effect.void
      }),
    release: (branch, sessionId) =>
      Effect.sync(() => {
        log.push(`${sessionId} releases ${branch.name}`)
        written(branch, (sessions) => sessions.filter((id) => id !== sessionId))
      })
  }
  return made
}

/** The branches of a cluster's operator are these; those of other operators stay. */
const inMemory = (cluster: string, directory: BranchDirectory) =>
  Layer.effect(
    Branches,
    Effect.gen(function* () {
      const own = yield* Branches
      const { api, fleet } = yield* OwnCluster
      if (api.cluster !== cluster) return own
      const areServed: typeof own.areServed = (route) =>
        route !== "MultiCluster" || fleet?.defaultCluster === fleet?.clusterName
      return { ...own, directory, areServed }
    })
  )

/** The capabilities of operators of which those of one cluster have branches in memory. */
export const withBranches = (
  cluster: string,
  branches: BranchDirectory,
  splits: Layer.Layer<QueueSplits, never, OperatorServices> = splitLayer
): OperatorCapabilities =>
  policyLayer.pipe(
    (above) => Layer.provideMerge(tlsLayer, above),
    (above) => Layer.provideMerge(branchLayer, above),
    (above) => Layer.provideMerge(inMemory(cluster, branches), above),
    (above) => Layer.provideMerge(splits, above),
    (above) => Layer.provideMerge(memberLayer, above),
    (above) => Layer.provideMerge(primaryLayer, above),
    (above) => Layer.provideMerge(branchSyncLayer, above),
    (above) => Layer.provideMerge(copyLayer, above),
    (above) => Layer.provideMerge(usageLayer, above)
  )
