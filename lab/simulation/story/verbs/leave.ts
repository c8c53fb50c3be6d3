/** `leave s1`: a user ends the session in order; `leave operator a` uninstalls an operator. */

import { Result } from "effect"
import { ofASession } from "../draws.ts"
import { withCluster, withSession } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const leave: Verb = {
  name: "leave",
  usage: "leave <session> | leave operator <cluster>",
  summary: "A user ends the session; or a cluster's operator goes for ever, as if uninstalled.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      if (first === "operator") {
        const cluster = yield* nameWord(rest[0], "a cluster's name")
        yield* nothingMore(rest.slice(1))
        return (run) =>
          withCluster(run, cluster, ({ host }) => {
            run.fault("operator gone", `the operator of ${cluster} is gone for ever`)
            host.leaveForEver()
          })
      }
      const session = yield* nameWord(first, "a session's name")
      yield* nothingMore(rest)
      return (run) => withSession(run, session, (client) => client.leave())
    }),
  random: {
    weight: 4,
    line: (draw) =>
      draw.random.chance(0.1)
        ? `leave operator ${draw.random.pick(draw.places)}`
        : ofASession(draw, (session) => `leave ${session}`)
  }
}
