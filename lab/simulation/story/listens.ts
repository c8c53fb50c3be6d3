/** The common form of the verbs `steal` and `mirror`: a session's program listens on a port. */

import { Result } from "effect"
import type { ClientRequest } from "../../client/client-input.ts"
import { ofASession } from "./draws.ts"
import { withSession } from "./scene.ts"
import type { Draw, StoryRun } from "./verb.ts"
import { exactly, nameWord, portWord, regex } from "./words.ts"

/** Reads the words `<session> <port> [filter <regex>]`. */
export const listens =
  (toRequest: (port: number, filter: string | undefined) => ClientRequest) =>
  ([first, second, third, ...rest]: ReadonlyArray<string>): Result.Result<(run: StoryRun) => void, string> =>
    Result.gen(function* () {
      const session = yield* nameWord(first, "a session's name")
      const port = yield* portWord(second)
      if (third !== undefined) yield* exactly(third, "filter")
      const request = toRequest(port, third === undefined ? undefined : yield* regex(rest))
      return (run) => withSession(run, session, (client) => client.do(request))
    })

/** A random line of such a verb. */
export const listening =
  (verb: string) =>
  (draw: Draw): string | undefined =>
    ofASession(draw, (session) => `${verb} ${session} 80${draw.random.chance(0.3) ? " filter x-user: ann" : ""}`)
