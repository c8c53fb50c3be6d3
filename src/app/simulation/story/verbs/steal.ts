import { Result } from "effect"
import type { ClientRequest } from "../../../../domain/client/client-input.ts"
import { ofASession } from "../draws.ts"
import { withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, portWord, regex } from "../words.ts"

export const steal: Verb = {
  name: "steal",
  usage: "steal <session> <port> [filter <regex>]",
  summary: "The session's program listens on a port whose traffic is stolen; filter: only requests with such a header, as in `x-user: ann`.",
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
        _tag: "Steal",
        type: filter === undefined ? { _tag: "All", value: port } : { _tag: "FilteredHttpEx", port, filter: { _tag: "Header", value: filter } }
      }
      return (run) => withSession(run, session, (client) => client.do(request))
    }),
  random: {
    weight: 8,
    line: (draw) => ofASession(draw, (session) => `steal ${session} 80${draw.random.chance(0.3) ? " filter x-user: ann" : ""}`)
  }
}
