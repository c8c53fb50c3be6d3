import { Effect, Result } from "effect"
import type { BranchDirectory, UsableBranch } from "../../../src/app/branches/branch-directory.ts"
import { type MakeCapability, operatorCapabilities } from "../../../src/app/operator/capabilities.ts"
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

/** The capabilities of operators of which those of one cluster have branches. */
export const withBranches = (cluster: string, branches: BranchDirectory): ReadonlyArray<MakeCapability> =>
  operatorCapabilities.map(
    (make) => (ground, earlier) => make(ground.api.cluster === cluster ? { ...ground, branches } : ground, earlier)
  )
