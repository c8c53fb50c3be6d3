/** `rollout a`: replaces all replicas of an operator in order, as an upgrade does. */

import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const rollout: Verb = {
  name: "rollout",
  usage: "rollout <cluster>",
  summary:
    "All replicas of a cluster's operator are replaced, as by an upgrade of its chart: a new pod stands by " +
    "before an old one ends, one after the other.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ host, server }) => {
          if (!host.isElected) return nothingHappens(run, `no leader is elected in ${cluster}`)
          if (host.isRollingOut) return nothingHappens(run, `the operator of ${cluster} is being replaced already`)
          if (host.isGone) return nothingHappens(run, `the operator of ${cluster} is gone`)
          if (server.isDown) return nothingHappens(run, `the API server of ${cluster} does not answer`)
          run.fault("rollout", `the operator of ${cluster} is replaced`)
          host.rollOut()
        })
    }),
  random: {
    weight: 4,
    ofElected: true,
    line: ({ elected, random }) => {
      const cluster = random.pick(elected)
      return cluster === undefined ? undefined : `rollout ${cluster}`
    }
  }
}
