/**
 * `agents a version 1.19.4`: an upgrade or downgrade of mirrord's agents in a cluster. Running agents keep their
 * version.
 */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore, versionWord } from "../words.ts"

export const agents: Verb = {
  name: "agents",
  usage: "agents <cluster> version <v>",
  summary: "The protocol version of agents that start from now on, 1.2.2 to 1.29.0.",
  kind: "act",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      yield* exactly(second, "version")
      const version = yield* versionWord(third)
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ kubelet }) => {
          kubelet.agentVersion = version
        })
    }),
  random: {
    weight: 2,
    line: ({ clusters, random }) =>
      `agents ${random.pick(clusters)} version ${random.pick(["1.3.1", "1.12.0", "1.19.4", "1.24.0", "1.29.0"])}`
  }
}
