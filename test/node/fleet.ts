/**
 * A fleet of two clusters with a node each, which enforce NetworkPolicies, and sessions of mirrord's own client with
 * workloads there.
 */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, expect } from "vitest"
import { jobs, pods } from "../../lab/cluster/store/resource-refs.ts"
import { installChart } from "../../lab/playground/kubernetes/helm-release.ts"
import type { Programs } from "../../lab/playground/kubernetes/programs.ts"
import { operatorNamespace, workloadTarget } from "../../lab/playground/manifests.ts"
import {
  type NodePlayground,
  type RunningNode,
  startNodePlayground
} from "../../lab/playground/node/node-playground.ts"
import { topology } from "../../lab/playground/topology.ts"
import { request, runClient, type RunningCommand } from "../real/harness.ts"
import { attempts } from "../support/attempts.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { useNodes } from "./nodes.ts"

const parents = { group: "operator.metalbear.co", version: "v1alpha", resource: "mirrordmulticlustersessions" }

interface StartedFleet {
  readonly playground: NodePlayground
  readonly programs: Programs
}

export interface FleetOnNodes {
  readonly started: () => StartedFleet
  readonly clusters: () => ReadonlyArray<RunningNode>
  readonly primary: () => RunningNode
  readonly named: (name: string) => RunningNode
  /** Starts a session of layer-app with a workload of the namespace `default`. */
  readonly exec: (actions: ReadonlyArray<string>, target?: string, settings?: object) => RunningCommand
  /** Names of the Jobs and pods of agents in a cluster. */
  readonly agents: (node: RunningNode) => ReadonlyArray<string>
  /** Upgrades the operator, once all sessions have ended: a new leader waits 150 s for the clients of others. */
  readonly install: (node: RunningNode, values: object) => Promise<void>
  /** Ends the session, and waits until no agent is left. */
  readonly end: (session: RunningCommand) => Promise<void>
}

/** Starts the fleet for the tests of the calling `describe`. */
export const useFleet = ({
  layerApp,
  mirrord
}: {
  readonly layerApp: string
  readonly mirrord: string
}): FleetOnNodes => {
  const nodes = useNodes((parts) =>
    Effect.map(
      startNodePlayground({
        ...parts,
        topology: topology("primary-default", 0),
        enforcesPolicies: true,
        sessionTtlSecs: 5,
        remoteSessionTimeoutSecs: 300,
        progress: () => Effect.void
      }),
      (playground) => ({ playground, programs: parts.programs })
    )
  )
  const sessions = new Set<RunningCommand>()
  afterEach(() => {
    // Those of a test that failed; the next one would wait for their end.
    for (const session of sessions) session.stop()
    sessions.clear()
  })
  const clusters: FleetOnNodes["clusters"] = () => nodes.started().playground.clusters
  const primary: FleetOnNodes["primary"] = () => nodes.started().playground.primary
  const agents: FleetOnNodes["agents"] = ({ cluster: { store } }) =>
    [jobs, pods]
      .flatMap((kind) => store.list(kind, { namespace: operatorNamespace }).items)
      .map(({ metadata }) => metadata.name ?? "")
      .filter((name) => name.startsWith("mirrord-agent-"))
  return {
    started: nodes.started,
    clusters,
    primary,
    named: (name) => {
      const found = clusters().find(({ description }) => description.name === name)
      if (found === undefined) throw new Error(`there is no cluster ${name}`)
      return found
    },
    exec: (actions, target = workloadTarget, settings = {}) => {
      const home = nodes.home("exec")
      const config = join(home, "mirrord.json")
      writeFileSync(config, JSON.stringify(settings))
      const session = runClient({
        file: mirrord,
        args: ["exec", "--target", target, "-f", config, "--", layerApp, ...actions],
        home,
        kubeconfig: primary().cluster.kubeconfigPath
      })
      sessions.add(session)
      return session
    },
    agents,
    install: async (node, values) => {
      await until("the end of all sessions", () =>
        primary().cluster.store.list(parents, {}).items.length === 0 ? true : undefined
      )
      const flags = ["--reuse-values", "--wait"]
      await Effect.runPromise(installChart(nodes.started().programs, node.cluster, values, { flags }))
    },
    end: async (session) => {
      session.stop("SIGTERM")
      await session.ended()
      await until("the end of all agents", () => (clusters().flatMap(agents).length === 0 ? true : undefined))
    }
  }
}

/** Waits until a request at this entry gets an answer with this text. An agent's first rules may cut a connection. */
export const answers = (entry: string, path: string, text: string): Promise<void> => {
  const next = attempts()
  return eventually(`${text} at ${entry}${path}`, async () =>
    expect(await request(entry, path, {}, next())).toContain(text)
  )
}
