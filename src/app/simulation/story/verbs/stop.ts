import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore } from "../words.ts"

export const stop: Verb = {
  name: "stop",
  usage: "stop server <cluster>",
  summary: "A cluster's API server goes down: connections are refused, watches break.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      yield* exactly(first, "server")
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ server }) => {
          if (server.isDown) return nothingHappens(run, `the API server of ${cluster} is down`)
          run.fault("server down", `the API server of ${cluster} goes down`)
          server.stop()
        })
    }),
  random: { weight: 3, line: ({ places, random }) => `stop server ${random.pick(places)}` }
}
