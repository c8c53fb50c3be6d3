/** `connect-as bob s1`: a stranger tries the id of somebody's session. */

import { Result } from "effect"
import { ofASession } from "../draws.ts"
import { nothingHappens, withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const connectAs: Verb = {
  name: "connect-as",
  usage: "connect-as <user> <session>",
  summary: "Another user connects with the id of a session that is not his.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const user = yield* nameWord(first, "a user's name")
      const session = yield* nameWord(second, "a session's name")
      yield* nothingMore(rest)
      return (run) =>
        withSession(run, session, ({ sessionId }) => {
          const name = `${session}-as-${user}`
          if (run.world.clients.has(name)) return nothingHappens(run, `${name} was there before`)
          run.world.startClient({ name, user, shape: "exec", target: "deployment.myapp", sessionId })
        })
    }),
  random: { weight: 1, line: (draw) => ofASession(draw, (session) => `connect-as bob ${session}`) }
}
