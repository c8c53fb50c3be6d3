/** A primary that is the default and a member, on a node each, for sessions of mirrord's own client and agent. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, expect } from "vitest"
import { jobs, pods } from "../../lab/cluster/store/resource-refs.ts"
import { installChart } from "../../lab/playground/kubernetes/helm-release.ts"
import { operatorNamespace, workloadTarget } from "../../lab/playground/manifests.ts"
import { type RunningNode, startNodePlayground } from "../../lab/playground/node/node-playground.ts"
import { topology } from "../../lab/playground/topology.ts"
import { request, runClient, type RunningCommand } from "../real/harness.ts"
import { parents } from "../real/sessions.ts"
import { attempts } from "../support/attempts.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { useNodes } from "./nodes.ts"
import { dialling, group } from "./people.ts"

/** The client's programs. */
interface Binaries {
  readonly layerApp: string
  readonly mirrord: string
}

/**
 * Starts them for the tests of the calling `describe`.
 *
 * `enforcesPolicies`: whether the nodes enforce NetworkPolicies. `letsPeopleIn`: whether the member dials out, and lets
 * people in (people.ts).
 */
export const useNodeSessions = (
  { layerApp, mirrord }: Binaries,
  { enforcesPolicies = false, letsPeopleIn = false } = {}
) => {
  const nodes = useNodes((parts) =>
    Effect.map(
      startNodePlayground({
        ...parts,
        topology: letsPeopleIn ? dialling : topology("primary-default", 0),
        peopleGroups: [group],
        enforcesPolicies,
        sessionTtlSecs: 5,
        remoteSessionTimeoutSecs: 300,
        progress: () => Effect.void
      }),
      (playground) => ({ playground, ...parts })
    )
  )
  const sessions = new Set<RunningCommand>()
  afterEach(() => {
    // Those of a test that failed; the next one would wait for their end.
    for (const session of sessions) session.stop()
    sessions.clear()
  })
  const playground = () => nodes.started().playground
  const clusters = (): ReadonlyArray<RunningNode> => playground().clusters
  const primary = (): RunningNode => playground().primary
  const kubeconfig = (): string => primary().cluster.kubeconfigPath
  const agents = ({ cluster: { store } }: RunningNode): ReadonlyArray<string> =>
    [jobs, pods]
      .flatMap((kind) => store.list(kind, { namespace: operatorNamespace }).items)
      .map(({ metadata }) => metadata.name ?? "")
      .filter((name) => name.startsWith("mirrord-agent-"))
  return {
    home: nodes.home,
    playground,
    parts: nodes.started,
    clusters,
    primary,
    kubeconfig,
    named: (name: string): RunningNode => {
      const found = clusters().find(({ description }) => description.name === name)
      if (found === undefined) throw new Error(`there is no cluster ${name}`)
      return found
    },
    /** Starts a session of layer-app with a workload of the namespace `default`. */
    exec: (actions: ReadonlyArray<string>, { settings = {}, target = workloadTarget } = {}): RunningCommand => {
      const home = nodes.home("exec")
      const config = join(home, "mirrord.json")
      writeFileSync(config, JSON.stringify(settings))
      const args = ["exec", "--target", target, "-f", config, "--", layerApp, ...actions]
      const session = runClient({ file: mirrord, args, home, kubeconfig: kubeconfig() })
      sessions.add(session)
      return session
    },
    /** Names of the Jobs and pods of agents in a cluster. */
    agents,
    /** Upgrades the operator, once all sessions have ended: a new leader waits 150 s for the clients of others. */
    install: async (node: RunningNode, values: object): Promise<void> => {
      await until("the end of all sessions", () => (parents(playground()).length === 0 ? true : undefined))
      const flags = ["--reuse-values", "--wait"]
      await Effect.runPromise(installChart(nodes.started().programs, node.cluster, values, { flags }))
    },
    /** Ends the session, and waits until no agent is left. */
    end: async (session: RunningCommand): Promise<void> => {
      session.stop("SIGTERM")
      await session.ended()
      await until("the end of all agents", () => (clusters().flatMap(agents).length === 0 ? true : undefined))
    }
  }
}

/** Waits until a request at this entry gets an answer with this text. An agent's first rules may cut a connection. */
export const answersAt = (entry: string, path: string, text: string, headers = {}): Promise<void> => {
  const next = attempts()
  return eventually(`${text} at ${entry}${path}`, async () =>
    expect(await request(entry, path, headers, next())).toContain(text)
  )
}
