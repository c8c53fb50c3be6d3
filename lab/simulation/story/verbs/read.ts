/** `read s1 /etc/hosts → file of a`: a session's program reads a remote file. */

import { Result } from "effect"
import { ask } from "../ask.ts"
import { ofASession } from "../draws.ts"
import type { Verb } from "../verb.ts"
import { afterArrow, nameWord } from "../words.ts"

export const read: Verb = {
  name: "read",
  usage: "read <session> <path> [→ <words>]",
  summary: "The session's program reads a file; after an arrow: what the answer must hold, such as `file of a`.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const [path, ...more] = rest
      if (path === undefined || !path.startsWith("/"))
        return yield* Result.fail(`${JSON.stringify(path ?? "")} is not an absolute path: write /etc/hosts`)
      const wanted = yield* afterArrow(more, "what the answer holds")
      return (run) => ask(run, session, (client) => client.readFile(path), wanted)
    }),
  random: { weight: 3, line: (draw) => ofASession(draw, (session) => `read ${session} /etc/hosts`) }
}
