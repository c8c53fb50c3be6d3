import { Result } from "effect"
import type { ClientRequest } from "../../../../domain/client/client-input.ts"
import { ofASession } from "../draws.ts"
import { withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, portWord, regex } from "../words.ts"

export const mirror: Verb = {
  name: "mirror",
  usage: "mirror <session> <port> [filter <regex>]",
  summary: "The session's program listens on a port whose traffic is mirrored; filter: only requests with such a header, as in `x-user: ann`.",
  kind: "act",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const port = yield* portWord(second)
      let filter: string | undefined
      if (third !== undefined) {
        yield* exactly(third, "filter")
        filter = yield* regex(rest)
      }
      const request: ClientRequest = {
        _tag: "Mirror",
        port,
        ...(filter === undefined ? {} : { filter: { _tag: "Header", value: filter } })
      }
      return (run) => withSession(run, session, (client) => client.do(request))
    }),
  random: {
    weight: 4,
    line: (draw) => ofASession(draw, (session) => `mirror ${session} 80${draw.random.chance(0.3) ? " filter x-user: ann" : ""}`)
  }
}
