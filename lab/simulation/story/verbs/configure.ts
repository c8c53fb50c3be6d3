/** `configure remove b`: somebody changes the configuration of the primary while it runs. */

import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { StoryRun, Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

const changes = ["add", "remove", "move", "default", "nonsense"] as const

const changeCluster = (run: StoryRun, change: Exclude<(typeof changes)[number], "nonsense">, cluster: string): void =>
  withCluster(run, cluster, () => {
    const { files, plan } = run.world
    if (cluster === plan.primary) return nothingHappens(run, `${cluster} is the primary itself`)
    if (run.world.authors.isFound(cluster)) return nothingHappens(run, `${cluster} is found by a provider`)
    const isListed = files.isListed(cluster)
    if (isListed === (change === "add"))
      return nothingHappens(run, `${cluster} is ${isListed ? "" : "not "}in the primary's list`)
    // With an empty list the chart makes new pods; here the same primary would stay, and never take up another list.
    if (change === "remove" && files.isAlone(cluster))
      return nothingHappens(run, `${cluster} is the only cluster in the primary's list`)
    switch (change) {
      case "add":
        run.fault("cluster added", `${cluster} comes into the primary's list`)
        return files.add(cluster)
      case "remove":
        run.fault("cluster removed", `${cluster} goes out of the primary's list`)
        return files.remove(cluster)
      case "move":
        run.fault("cluster moved", `${cluster} gets another address in the primary's list`)
        return files.move(cluster)
      case "default":
        run.fault("another default cluster", `${cluster} is the default cluster for the next primary that starts`)
        return files.makeDefault(cluster)
    }
  })

export const configure: Verb = {
  name: "configure",
  usage: "configure add|remove|move|default <cluster> | configure nonsense",
  summary:
    "The list of clusters in the primary's configuration gets or loses a cluster, or another address of one; or " +
    "another cluster is the default, which a running primary refuses; or the list is nonsense, until it changes " +
    "again or `heal all`.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const change = yield* oneOf(first, changes)
      if (change === "nonsense") {
        yield* nothingMore(second === undefined ? [] : [second, ...rest])
        return (run) => {
          run.fault("configuration spoilt", "the primary's list of clusters is nonsense")
          run.world.files.spoil()
        }
      }
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) => changeCluster(run, change, cluster)
    }),
  random: {
    weight: 12,
    woven: "fleet",
    line: ({ clusters, random }) => {
      const change = random.pick(["add", "add", "remove", "remove", "move", "nonsense"])
      return change === "nonsense" ? "configure nonsense" : `configure ${change} ${random.pick(clusters)}`
    }
  }
}
