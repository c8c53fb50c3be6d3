/** A primary that is the default and a member, on a node each, for sessions of mirrord's own client and agent. */

import { Effect } from "effect"
import { installChart } from "../../lab/playground/kubernetes/helm-release.ts"
import { type RunningNode, startNodePlayground } from "../../lab/playground/node/node-playground.ts"
import { topology } from "../../lab/playground/topology.ts"
import { parents } from "../real/sessions.ts"
import { until } from "../support/until.ts"
import { useNodes } from "./nodes.ts"

/** Starts them for the tests of the calling `describe`. */
export const useNodeSessions = () => {
  const nodes = useNodes((parts) =>
    Effect.map(
      startNodePlayground({
        ...parts,
        topology: topology("primary-default", 0),
        sessionTtlSecs: 5,
        remoteSessionTimeoutSecs: 300,
        progress: () => Effect.void
      }),
      (playground) => ({ playground, programs: parts.programs })
    )
  )
  const playground = () => nodes.started().playground
  const primary = (): RunningNode => playground().primary
  return {
    home: nodes.home,
    playground,
    primary,
    kubeconfig: (): string => primary().cluster.kubeconfigPath,
    named: (name: string): RunningNode => {
      const found = playground().clusters.find(({ description }) => description.name === name)
      if (found === undefined) throw new Error(`there is no cluster ${name}`)
      return found
    },
    /** Upgrades the operator, once all sessions have ended: a new leader waits 150 s for the clients of others. */
    install: async (node: RunningNode, values: object): Promise<void> => {
      await until("the end of all sessions", () => (parents(playground()).length === 0 ? true : undefined))
      const flags = ["--reuse-values", "--wait"]
      await Effect.runPromise(installChart(nodes.started().programs, node.cluster, values, { flags }))
    }
  }
}
