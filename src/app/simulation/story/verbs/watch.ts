import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

const deeds = ["drop", "restore", "end", "forget", "bookmark"] as const

export const watch: Verb = {
  name: "watch",
  usage: "watch <cluster> drop|restore|end|forget|bookmark",
  summary: "What a cluster's watches suffer: events are lost until restored, all end, history is forgotten (410), a bookmark comes.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, deeds)
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ server: { objects } }) => {
          switch (deed) {
            case "drop":
              run.fault("lost events", `watches of ${cluster} lose what happens`)
              return objects.setMuted(true)
            case "restore":
              return objects.setMuted(false)
            case "end":
              run.fault("ended watches", `all watches of ${cluster} end`)
              return objects.endWatches()
            case "forget":
              run.fault("forgotten history", `${cluster} forgets its history: watches are told 410`)
              return objects.forgetHistory(true)
            case "bookmark":
              return objects.bookmark()
          }
        })
    }),
  random: { weight: 3, line: ({ places, random }) => `watch ${random.pick(places)} ${random.pick(deeds)}` }
}
