/**
 * A user's order of branches of databases, as the real client makes it: it looks for branches with the ids, waits for
 * those that are being made, orders the missing ones, and waits for these too. Connecting with their names is in
 * `sim-client.ts`.
 */

import { Result } from "effect"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { targetNamespaceAnnotation } from "../../../src/domain/branches/branch-admission.ts"
import { at, asString } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Answer, MemoryObjects } from "../../memory/memory-objects.ts"
import type { Cancel } from "../kernel/kernel.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import type { Refusal } from "./operator-host.ts"
import { operatorNamespace } from "./operator-replica.ts"
import type { PipeEnd } from "./pipe.ts"
import type { ApiServer } from "./sim-api-server.ts"
import { type BranchEngineWord, databaseFacts } from "./source-databases.ts"

/** The branches that a user's configuration names. */
export interface BranchWish {
  readonly ids: ReadonlyArray<string>
  readonly engine: BranchEngineWord
  readonly ttlSecs: number
  /** How long the client waits, ms. */
  readonly patience: number
  /** The configuration says `multi_cluster: false`. */
  readonly isLocal: boolean
  readonly image: string | undefined
  /** Whether the order asks for migrations, without which the branch is not ready. */
  readonly isMigrated: boolean
  /** Whether the configuration names a variable that the workload does not have, as by a slip of the pen. */
  readonly isMistyped?: boolean
}

/** The variable by which the configuration names its branches. */
export const wishedVariable = ({ engine, isMistyped = false }: Pick<BranchWish, "engine" | "isMistyped">): string =>
  isMistyped ? `MISTYPED_${databaseFacts[engine].variable}` : databaseFacts[engine].variable

/** Migrations in the specs of branches. */
export const migrations = { flavor: "flyway", archive: "H4sI" }

export interface BranchAsker {
  readonly from: PipeEnd & { readonly process: SimProcess }
  readonly server: ApiServer
  /** Whether the operator has the branches of all namespaces in its own. */
  readonly isManagementOnly: boolean
  /** Of the target. */
  readonly namespace: string
  readonly wish: BranchWish
  /** Whether the user has gone. */
  readonly isOver: () => boolean
  /** Tells of each branch that the client sees, each time that it sees it. */
  readonly told: (branch: KubeObject) => void
}

export interface BranchOutcome {
  /** `names`: of the branches that are ready, as far as the client knows. */
  readonly ready: (names: ReadonlyArray<string>) => void
  readonly refused: (refusal: Refusal) => void
}

export const branchIdLabel = "mirrord-branch-id"
export const skipSyncLabel = "operator.metalbear.co/skip-mc-sync"

/** The name of a branch, which follows from the target's namespace and the id. */
const orderedName = (engine: BranchEngineWord, namespace: string, id: string): string =>
  `mirrord-${databaseFacts[engine].dialect}-branch-${sha256Hex(`${namespace}\0${id}`).slice(0, 16)}`

/** The object that orders a branch. */
export const branchObject = (
  wish: Omit<BranchWish, "ids" | "patience">,
  place: { readonly id: string; readonly namespace: string; readonly targetNamespace: string }
): KubeObject => {
  const { engine, image, isLocal, isMigrated, ttlSecs } = wish
  const { id, namespace, targetNamespace } = place
  const { block } = databaseFacts[engine]
  return {
    metadata: {
      name: orderedName(engine, targetNamespace, id),
      namespace,
      labels: { [branchIdLabel]: id, ...(isLocal ? { [skipSyncLabel]: "true" } : {}) },
      ...(namespace === targetNamespace ? {} : { annotations: { [targetNamespaceAnnotation]: targetNamespace } })
    },
    spec: {
      id,
      ttlSecs,
      target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" },
      connectionSource: { url: { env: { container: null, variable: wishedVariable(wish) } } },
      databaseName: "shop",
      ...(image === undefined ? {} : { image }),
      ...(isMigrated ? { migrations } : {}),
      [block]: { copy: { mode: "schema" } }
    }
  }
}

/** `status.phase` of a branch; `undefined` if it has none yet. */
export const phaseOfBranch = (branch: KubeObject | undefined): string | undefined =>
  asString(at(branch, "status", "phase"))

const isOver = (phase: string | undefined): boolean => phase === "Ready" || phase === "Failed"

const failureOf = (branch: KubeObject): Refusal => ({
  code: undefined,
  reason: "Failed",
  message: asString(at(branch, "status", "error")) ?? "Branch database creation failed"
})

/** The beginning of the sentence that the client ends with if a branch takes too long. */
export const timedOut = "operator operation timed out: database branching"

const tooLate: Refusal = { code: undefined, reason: "Timeout", message: timedOut }

/** Waits until a branch is ready or has failed; errors of the watch end nothing. */
const awaitBranch = (
  { from, server, told }: BranchAsker,
  { metadata: { name, namespace } }: KubeObject,
  ended: (branch: KubeObject) => void
): Cancel => {
  const selection = { name, ...(namespace === undefined ? {} : { namespace }) }
  return server.follow(from, { ref: branchDatabases, selection }, (branch) => {
    told(branch)
    if (isOver(phaseOfBranch(branch))) ended(branch)
  })
}

type Failure = Result.Result.Failure<Answer<unknown>>
const refusalOf = ({ code, detail, reason }: Failure): Refusal => ({ code, reason, message: detail })

/** Waits for all of these at once, with one time-out. */
const awaitAll = (asker: BranchAsker, branches: ReadonlyArray<KubeObject>, { ready, refused }: BranchOutcome): void => {
  if (branches.length === 0) return ready([])
  const names: Array<string> = []
  const waiting = new Map<string, Cancel>()
  const stop = (): void => {
    late()
    for (const cancel of waiting.values()) cancel()
  }
  const late = asker.from.process.after(asker.wish.patience, () => {
    stop()
    refused(tooLate)
  })
  for (const branch of branches) {
    const { name } = branch.metadata
    const cancel = awaitBranch(asker, branch, (found) => {
      if (!waiting.has(name)) return
      waiting.get(name)?.()
      waiting.delete(name)
      if (phaseOfBranch(found) === "Failed") {
        stop()
        return refused(failureOf(found))
      }
      names.push(name)
      if (waiting.size > 0) return
      late()
      ready(names)
    })
    waiting.set(name, cancel)
  }
}

/** Orders branches for a user. Either part of the outcome is called at most once, and none after the user has gone. */
export const obtainBranches = (asker: BranchAsker, outcome: BranchOutcome): void => {
  const { from, isManagementOnly, namespace: targetNamespace, server, told, wish } = asker
  const namespace = isManagementOnly ? operatorNamespace : targetNamespace
  let isDone = false
  const end = (tell: () => void): void => {
    if (isDone || asker.isOver()) return
    isDone = true
    tell()
  }
  const refused = (refusal: Refusal): void => end(() => outcome.refused(refusal))
  const ask = <A>(
    request: (objects: MemoryObjects) => Answer<A>,
    answered: (answer: A) => void,
    failed = (failure: Failure): void => refused(refusalOf(failure))
  ): void =>
    server.ask(from, request, (answer) => {
      if (isDone || asker.isOver()) return
      if (Result.isSuccess(answer)) answered(answer.success)
      else failed(answer.failure)
    })

  /** Orders these one after the other, or finds one that another client has ordered meanwhile. */
  const order = (missing: ReadonlyArray<string>, then: (made: ReadonlyArray<KubeObject>) => void): void => {
    const [id, ...others] = missing
    if (id === undefined) return then([])
    const object = branchObject(wish, { id, namespace, targetNamespace })
    const next = (made: KubeObject): void => order(others, (more) => then([made, ...more]))
    ask(
      (objects) => objects.create(branchDatabases, object, namespace, from.process.now()),
      next,
      (failure) =>
        failure.reason === "AlreadyExists"
          ? ask((objects) => objects.get(branchDatabases, object.metadata.name, namespace), next)
          : refused(refusalOf(failure))
    )
  }

  const isOurs = ({ metadata }: KubeObject): boolean =>
    (metadata.annotations?.[targetNamespaceAnnotation] ?? metadata.namespace) === targetNamespace &&
    wish.ids.includes(metadata.labels?.[branchIdLabel] ?? "")

  ask(
    (objects) => Result.succeed(objects.list(branchDatabases, { namespace, labelSelector: branchIdLabel })),
    ({ items }) => {
      const found = items.filter(isOurs)
      for (const branch of found) told(branch)
      const usable = found.filter((branch) => phaseOfBranch(branch) !== "Failed")
      const known = new Set(usable.map(({ metadata }) => metadata.labels?.[branchIdLabel]))
      const nameOf = ({ metadata }: KubeObject): string => metadata.name
      const there = usable.filter((branch) => phaseOfBranch(branch) === "Ready").map(nameOf)
      const coming = usable.filter((branch) => phaseOfBranch(branch) !== "Ready")
      const missing = wish.ids.filter((id) => !known.has(id))
      const awaitThen = (branches: ReadonlyArray<KubeObject>, ready: BranchOutcome["ready"]): void =>
        awaitAll(asker, branches, { ready, refused })
      awaitThen(coming, (come) =>
        order(missing, (ordered) =>
          awaitThen(ordered, (made) => end(() => outcome.ready([...there, ...come, ...made])))
        )
      )
    }
  )
}
