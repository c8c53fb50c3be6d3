/** `flood s1 512`: bulk data on an outgoing connection of a session, there and back. */

import { Result } from "effect"
import { ofASession } from "../draws.ts"
import { withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, wholeNumber } from "../words.ts"

export const flood: Verb = {
  name: "flood",
  usage: "flood <session> <KiB>",
  summary: "The session's program writes so much on a new outgoing connection, whose peer says it all back.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const size = yield* wholeNumber(second, "a number of KiB")
      yield* nothingMore(rest)
      return (run) =>
        withSession(run, session, (client) => client.connectTo({ ip: "10.9.0.9", port: 9_000 }, size * 1024))
    }),
  random: {
    weight: 2,
    line: (draw) => ofASession(draw, (session) => `flood ${session} ${draw.random.pick([64, 512, 2048])}`)
  }
}
