/** `connect s1 10.9.0.1:5432 → hello from a`: a session's program opens an outgoing connection. */

import { Result } from "effect"
import { ask } from "../ask.ts"
import { ofASession } from "../draws.ts"
import type { Verb } from "../verb.ts"
import { afterArrow, nameWord, portWord } from "../words.ts"

export const connect: Verb = {
  name: "connect",
  usage: "connect <session> <ip>:<port> [→ <words>]",
  summary:
    "The session's program opens an outgoing connection; after an arrow: what the peer must say, such as `hello " +
    "from a`.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const [address, ...more] = rest
      const [, ip, digits] = /^(\d{1,3}(?:\.\d{1,3}){3}):(\d+)$/.exec(address ?? "") ?? []
      if (ip === undefined)
        return yield* Result.fail(`${JSON.stringify(address ?? "")} is not an address: write 10.9.0.1:5432`)
      const port = yield* portWord(digits)
      const wanted = yield* afterArrow(more, "what the peer says")
      return (run) => ask(run, session, (client) => client.connectTo({ ip, port }), wanted)
    }),
  random: {
    weight: 3,
    line: (draw) =>
      ofASession(
        draw,
        (session) => `connect ${session} ${draw.random.pick(["10.9.0.1:5432", "10.9.0.2:1", "192.0.2.1:80"])}`
      )
  }
}
