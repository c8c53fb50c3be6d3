import { Effect, Schedule } from "effect"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import type { ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import { parentFinalizer } from "../../../domain/session/names.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"

/** How often it is looked whether sessions have ended. */
const lookEvery = "1 second"
/** A finalizer is taken off again when somebody else wrote the session meanwhile. */
const attempts = 5

type Sessions = ResourceDescriptor<unknown>

/** A kind that the cluster does not serve has no objects. */
const listed = (api: KubeApi, kind: Sessions): Effect.Effect<ReadonlyArray<KubeObject>, KubeError> =>
  api.list(kind).pipe(
    Effect.map(({ items }) => items),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(error)))
  )

const unlessGone = (error: KubeError): Effect.Effect<void, KubeError> =>
  error.reason === "NotFound" ? Effect.void : Effect.fail(error)

const deleted = (api: KubeApi, kind: Sessions, { metadata }: KubeObject): Effect.Effect<void, KubeError> =>
  metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null
    ? Effect.void
    : api
        .delete(kind, metadata.name, metadata.uid === undefined ? {} : { uid: metadata.uid })
        .pipe(Effect.catch(unlessGone))

/** Takes our finalizer, and no other, off a session that is being deleted. */
const released = (api: KubeApi, name: string): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
    const { metadata } = yield* api.get(mirrordMultiClusterSessions, name)
    const finalizers = metadata.finalizers ?? []
    if (!finalizers.includes(parentFinalizer)) return
    yield* api.mergePatch(mirrordMultiClusterSessions, name, {
      metadata: {
        resourceVersion: metadata.resourceVersion,
        finalizers: finalizers.filter((finalizer) => finalizer !== parentFinalizer)
      }
    })
    yield* logInfo("finalizer removed", { session: name })
  }).pipe(Effect.retry({ times: attempts, while: ({ reason }) => reason === "Conflict" }), Effect.catch(unlessGone))

export interface CleanupOptions {
  /** How long a running operator gets to end the sessions itself, children in other clusters included; in seconds. */
  readonly waitSecs: number
}

/**
 * Ends every session of a cluster before its operator is uninstalled. Multi-cluster sessions are deleted first, so that
 * a running operator deletes their children; what is left after the wait has lost its operator, and its finalizer is
 * taken off. Then the sessions of this cluster go, and agents with them, whose owners they are.
 *
 * Goes on after a refusal. Gives the problems, one sentence each; none means that nothing is left.
 */
export const cleanup = (api: KubeApi, { waitSecs }: CleanupOptions): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const problems: Array<string> = []
    const tell = <A>(doing: string, effect: Effect.Effect<A, KubeError>, otherwise: A): Effect.Effect<A> =>
      effect.pipe(
        Effect.catch((error) => {
          problems.push(`${doing}: ${error.detail}.`)
          return Effect.as(logWarning(`${doing} failed`, { problem: error.message }), otherwise)
        })
      )

    const parents = yield* tell("listing the multi-cluster sessions", listed(api, mirrordMultiClusterSessions), [])
    for (const parent of parents) {
      yield* tell(
        `deleting multi-cluster session ${parent.metadata.name}`,
        deleted(api, mirrordMultiClusterSessions, parent),
        undefined
      )
    }
    const left = yield* tell(
      "waiting for the multi-cluster sessions to end",
      parents.length === 0
        ? Effect.succeed([])
        : listed(api, mirrordMultiClusterSessions).pipe(
            Effect.repeat({
              until: (items) => items.length === 0,
              times: waitSecs,
              schedule: Schedule.spaced(lookEvery)
            })
          ),
      parents
    )
    for (const { metadata } of left) {
      // One that could not be deleted stays as it is: without its finalizer nobody would remember its children.
      if (problems.some((problem) => problem.startsWith(`deleting multi-cluster session ${metadata.name}:`))) continue
      yield* tell(
        `removing the finalizer of multi-cluster session ${metadata.name}`,
        released(api, metadata.name),
        undefined
      )
    }

    const sessions = yield* tell("listing the sessions", listed(api, mirrordClusterSessions), [])
    for (const session of sessions) {
      yield* tell(`deleting session ${session.metadata.name}`, deleted(api, mirrordClusterSessions, session), undefined)
    }
    yield* logInfo("sessions ended", { multiCluster: parents.length, here: sessions.length, problems: problems.length })
    return problems
  })
