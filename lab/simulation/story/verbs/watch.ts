/** `watch a drop`: faults of a cluster's watches, such as lost, late or reordered events. */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, nameWord, nothingMore, oneOf } from "../words.ts"

const deeds = ["drop", "restore", "end", "forget", "bookmark", "delay", "reorder"] as const
/** How late events are in random stories, ms. */
const delays = [50, 400, 2_500]

export const watch: Verb = {
  name: "watch",
  usage: "watch <cluster> drop|restore|end|forget|bookmark | watch <cluster> delay|reorder <duration>",
  summary:
    "What a cluster's watches suffer: events are lost until restored, late, or overtake those of other objects; " +
    "all end; history is forgotten (410); a bookmark comes.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, deeds)
      const [time, ...more] = rest
      const isTimed = deed === "delay" || deed === "reorder"
      const ms = isTimed ? yield* duration(time) : 0
      yield* nothingMore(isTimed ? more : rest)
      return (run) =>
        withCluster(run, cluster, ({ server }) => {
          const { objects } = server
          switch (deed) {
            case "delay":
            case "reorder":
              run.fault(
                `${deed}ed watches`,
                `watches of ${cluster} are ${ms} ms ` +
                  `late${deed === "delay" ? "" : ", each object's events by a time of its own up to that"}`
              )
              return server.delayWatches(ms, deed === "reorder")
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
  random: {
    weight: 3,
    line: ({ places, random }) => {
      const deed = random.pick(deeds)
      const place = random.pick(places)
      return `watch ${place} ${deed}${deed === "delay" || deed === "reorder" ? ` ${random.pick(delays)}ms` : ""}`
    }
  }
}
