/** `unsubscribe s1 80`: a session's program stops listening on a port. */

import { Result } from "effect"
import { ofASession } from "../draws.ts"
import { withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, portWord } from "../words.ts"

export const unsubscribe: Verb = {
  name: "unsubscribe",
  usage: "unsubscribe <session> <port>",
  summary: "The session's program stops listening on a port.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const port = yield* portWord(second)
      yield* nothingMore(rest)
      return (run) => withSession(run, session, (client) => client.do({ _tag: "Unsubscribe", port }))
    }),
  random: { weight: 2, line: (draw) => ofASession(draw, (session) => `unsubscribe ${session} 80`) }
}
