/** `resolve s1 db.local`: a session's program looks up a host name. */

import { Result } from "effect"
import { ask } from "../ask.ts"
import { ofASession } from "../draws.ts"
import type { Verb } from "../verb.ts"
import { afterArrow, nameWord } from "../words.ts"

export const resolve: Verb = {
  name: "resolve",
  usage: "resolve <session> <host> [→ <words>]",
  summary: "The session's program looks up a host; after an arrow: what the answer must hold.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const [node, ...more] = rest
      if (node === undefined) return yield* Result.fail("the host is missing: write db.local")
      const wanted = yield* afterArrow(more, "what the answer holds")
      return (run) => ask(run, session, (client) => client.do({ _tag: "Resolve", node }), wanted)
    }),
  random: { weight: 3, line: (draw) => ofASession(draw, (session) => `resolve ${session} db.local`) }
}
