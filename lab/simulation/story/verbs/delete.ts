/** `delete session s1`: a person ends a session by the API. A client's own end is `leave` or `kill`. */

import { Result } from "effect"
import { sessionId, sessionIdHex } from "../../../../src/domain/sessions/session-id.ts"
import { ofASession } from "../draws.ts"
import { withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore } from "../words.ts"

export const deleteSession: Verb = {
  name: "delete",
  usage: "delete session <session>",
  summary: "A person ends a session by the API's DELETE.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      yield* exactly(first, "session")
      const session = yield* nameWord(second, "a session's name")
      yield* nothingMore(rest)
      return (run) =>
        withSession(run, session, ({ sessionId: id }) => {
          const reference = sessionIdHex(sessionId(id))
          const caller = { user: "admin", groups: ["developers"], extra: {} }
          run.world.primary.host.ask(
            (facade) => facade.deleteSession(reference, caller),
            (result) => run.note(`DELETE of ${session}: ${Result.isSuccess(result) ? "done" : result.failure}`)
          )
        })
    }),
  random: { weight: 2, line: (draw) => ofASession(draw, (session) => `delete session ${session}`) }
}
