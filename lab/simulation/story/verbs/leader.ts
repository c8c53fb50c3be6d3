/** `leader a stops for 14s`: a fault of the one replica that leads. `pause` stops all replicas together. */

import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, nothingMore, oneOf } from "../words.ts"

export const leader: Verb = {
  name: "leader",
  usage: "leader <cluster> dies | stops for <duration> | is-cut for <duration>",
  summary:
    "The replica that leads a cluster's operator dies with its node, which leaves its pod as it was for 60 s; " +
    "stops as by SIGSTOP; or loses the way to its own API server, and no other.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const what = yield* oneOf(second, ["dies", "stops", "is-cut"])
      const [word, time, ...more] = rest
      if (what === "dies") yield* nothingMore(rest)
      else yield* exactly(word, "for")
      const ms = what === "dies" ? 0 : yield* duration(time)
      yield* nothingMore(more)
      return (run) =>
        withCluster(run, cluster, ({ host }) => {
          const { network } = run.world
          const { leader: replica } = host
          const isRunning = replica?.process?.state === "running"
          if (!host.isElected) return nothingHappens(run, `no leader is elected in ${cluster}`)
          if (replica === undefined || !isRunning) return nothingHappens(run, `nobody leads in ${cluster} now`)
          const { node } = replica
          switch (what) {
            case "dies":
              run.fault("leader dies", `the leader of ${cluster} dies with its node`)
              return replica.loseNode()
            case "stops":
              run.fault("leader pause", `the leader of ${cluster} stops for ${ms} ms`)
              replica.pause()
              return run.world.faultIn(ms, () => replica.resume())
            case "is-cut":
              run.fault("leader cut", `the leader of ${cluster} does not reach its API server for ${ms} ms`)
              network.cut(node, cluster)
              network.cut(cluster, node)
              return run.world.faultIn(ms, () => {
                network.heal(node, cluster)
                network.heal(cluster, node)
              })
          }
        })
    }),
  random: {
    weight: 8,
    ofElected: true,
    line: ({ elected, random }) => {
      const cluster = random.pick(elected)
      if (cluster === undefined) return undefined
      const what = random.pick(["dies", "stops", "stops", "is-cut"])
      const duration = what === "dies" ? "" : ` for ${random.pick(["4s", "11s", "14s", "18s", "25s", "70s"])}`
      return `leader ${cluster} ${what}${duration}`
    }
  }
}
