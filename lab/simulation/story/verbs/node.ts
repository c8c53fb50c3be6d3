/**
 * `node a lost`: faults between a cluster's operator and its agents, of which nobody tells the operator. `pause agent`
 * hangs agents, `crash agent` ends one with a word.
 */

import { Result } from "effect"
import { nodesOf } from "../../world/world.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

const deeds = ["cut", "lost", "forgotten", "back"] as const
const workload = "myapp"

export const node: Verb = {
  name: "node",
  usage: "node <cluster> cut|lost|forgotten|back",
  summary:
    "Nothing passes between an operator and its agents; or a pod's node is lost, in silence; or the API server " +
    "forgets a pod whose node runs on; back: lost nodes return, and everything passes.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const name = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, deeds)
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, name, ({ kubelet }) => {
          const { kernel, network } = run.world
          const nodes = nodesOf(name)
          switch (deed) {
            case "cut":
              run.fault("nodes cut off", `nothing passes between the operator of ${name} and its agents`)
              network.cut(name, nodes)
              return network.cut(nodes, name)
            case "lost": {
              const pod = kernel.random.split(`node lost at ${run.world.now}`).pick(kubelet.podsOf(workload))
              if (pod === undefined) return nothingHappens(run, `no pod of ${name} is ready`)
              run.fault("node lost", `the node of ${pod.name} in ${name} is lost`)
              const agents = kubelet.agents.filter(({ containerId }) => containerId === pod.containerId)
              const lost = new Set(agents.map((agent) => `agent ${agent.name}`))
              for (const connection of network.between(name, nodes))
                if (lost.has(connection.what)) connection.goSilent()
              return kubelet.loseNode(pod)
            }
            case "forgotten":
              run.fault("pod forgotten", `the API server of ${name} forgets a pod whose node runs on`)
              return kubelet.forgetPod(workload)
            case "back":
              network.heal(name, nodes)
              network.heal(nodes, name)
              return kubelet.returnNodes()
          }
        })
    }),
  random: {
    weight: 10,
    ofNodes: true,
    line: ({ clusters, random }) => `node ${random.pick(clusters)} ${random.pick(deeds)}`
  }
}
