import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, wholeNumber } from "../words.ts"

export const steal: Verb = {
  name: "steal",
  usage: "steal <session> <port>",
  summary: "The session's program listens on a port whose traffic is stolen.",
  kind: "act",
  read: ([session, port, ...rest]) =>
    Result.gen(function* () {
      const name = yield* nameWord(session, "a session's name")
      const number = yield* wholeNumber(port, "a port")
      yield* nothingMore(rest)
      return ({ world }) => world.client(name).do({ _tag: "Steal", type: { _tag: "All", value: number } })
    }),
  random: {
    weight: 6,
    line: ({ random, sessions }) => {
      const session = random.pick(sessions)
      return session === undefined ? undefined : `steal ${session} 80`
    }
  }
}
