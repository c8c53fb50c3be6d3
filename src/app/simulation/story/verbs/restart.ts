import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore } from "../words.ts"

export const restart: Verb = {
  name: "restart",
  usage: "restart server <cluster>",
  summary: "A cluster's API server is up again.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      yield* exactly(first, "server")
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ server }) => {
          if (server.isDown) server.start()
          else nothingHappens(run, `the API server of ${cluster} is up`)
        })
    }),
  random: { weight: 3, line: ({ places, random }) => `restart server ${random.pick(places)}` }
}
