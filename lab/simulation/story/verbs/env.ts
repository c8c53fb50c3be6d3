/** `env s1 → env of a`: a session's program asks for its environment. */

import { Result } from "effect"
import { ask } from "../ask.ts"
import { ofASession } from "../draws.ts"
import type { Verb } from "../verb.ts"
import { afterArrow, nameWord } from "../words.ts"

const everything = { filter: new Set<string>(), select: new Set(["*"]) }

export const env: Verb = {
  name: "env",
  usage: "env <session> [→ <words>]",
  summary:
    "The session's program asks for its environment; after an arrow: what the answer must hold, such as `env of a`.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const wanted = yield* afterArrow(rest, "what the answer holds")
      return (run) => ask(run, session, (client) => client.do({ _tag: "FetchEnv", selection: everything }), wanted)
    }),
  random: { weight: 3, line: (draw) => ofASession(draw, (session) => `env ${session}`) }
}
