/**
 * The command `braid sessions stop`: asks the operator of a cluster to end sessions, as mirrord's clients do. So they
 * stay ended, and clients hear of it; with `kubectl delete` the operator would not remember it.
 *
 * Not here: what the operator does then.
 */

import { Effect, Result } from "effect"
import { sessions } from "../../../domain/resources/session.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster, unanswered, type Unanswered } from "./ask-cluster.ts"
import { type Output, tell, tellUnanswered, type Told } from "./tell.ts"

/** The answer for one id that a person gave; `stopped` is false if there is no such session. */
interface Stopped {
  readonly session: string
  readonly stopped: boolean
}

/** Asks the operator to end a session for good. */
export const stopSession = (api: KubeApi, session: string): Effect.Effect<Stopped, Unanswered> =>
  api.delete(sessions, session).pipe(
    Effect.as({ session, stopped: true }),
    Effect.catch((error) =>
      // The operator says which session it does not know; without it the whole kind is unknown.
      error.reason === "NotFound" && error.detail.includes(session)
        ? Effect.succeed({ session, stopped: false })
        : Effect.fail(unanswered(error, "sessions (sessions.operator.metalbear.co)", "stop"))
    )
  )

const told = (answers: ReadonlyArray<Stopped>): Told => ({
  value: answers,
  lines: answers.flatMap(({ session, stopped }) => (stopped ? [`Session ${session} is being stopped.`] : [])),
  notes: []
})

const unknownSession = ({ session }: Stopped): Unanswered => ({
  message: `There is no session ${session}.`,
  fix: "braid sessions lists those that there are."
})

/** Exit code 1 if any of the sessions is unknown; the others are stopped all the same. */
export const runStopSessions = Effect.fnUntraced(function* ({
  ids,
  output,
  ...choice
}: KubeConfigChoice & { readonly ids: ReadonlyArray<string>; readonly output: Output }): Effect.fn.Return<number> {
  const answers = yield* chosenCluster(choice).pipe(
    Effect.flatMap((api) => Effect.forEach(ids, (id) => stopSession(api, id))),
    Effect.scoped,
    Effect.result
  )
  const unknown = Result.isSuccess(answers) ? answers.success.filter(({ stopped }) => !stopped) : []
  for (const answer of unknown) tellUnanswered(unknownSession(answer))
  const isEmpty = output === "table" && Result.isSuccess(answers) && unknown.length === answers.success.length
  const code = isEmpty ? 1 : yield* tell(output, Effect.map(Effect.fromResult(answers), told))
  return unknown.length > 0 ? 1 : code
})
