/** `kill s1`: a user's programs die without a farewell. The orderly end is `leave`. */

import { Result } from "effect"
import { ofASession } from "../draws.ts"
import { withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const kill: Verb = {
  name: "kill",
  usage: "kill <session>",
  summary: "The session's programs die as by SIGKILL.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      yield* nothingMore(rest)
      return (run) =>
        withSession(run, session, (client) => {
          run.fault("client killed", `${session} is killed`)
          client.kill()
        })
    }),
  random: { weight: 3, line: (draw) => ofASession(draw, (session) => `kill ${session}`) }
}
