import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { expect, it } from "vitest"
import type { Playground } from "../../lab/playground/local-cluster.ts"
import { mergedKubeconfig } from "../../lab/playground/merged-kubeconfig.ts"
import { operatorProgram, startPlayground } from "../../lab/playground/playground.ts"
import type { StepDetails } from "../../lab/playground/reporter.ts"
import { playStory } from "../../lab/playground/story.ts"
import { topology, type TopologyName } from "../../lab/playground/topology.ts"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { mirrordOperators } from "../../src/domain/resources/mirrord-operator.ts"
import { subnetOf } from "../address-plan.ts"
import { quietNode } from "../support/quiet-node.ts"
import { stagedProgram } from "../support/staged-image.ts"
import { untilTrue } from "../support/until-true.ts"
import { auditedCalls, outsideOf } from "./audited-calls.ts"
import { Chart } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { giveRights, rightsOf } from "./give-rights.ts"
import { at } from "./json.ts"
import { unexpectedCalls } from "./unexpected-calls.ts"

/** The developer, who has only the chart's role for developers. */
const developer = "ann"

/** Waits until the primary says that it is connected to every cluster. */
const fleetConnected = (kubeconfigPath: string) =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(kubeconfigPath)
    const api = yield* makeKubeApi(config, "primary")
    const areConnected = async (): Promise<boolean> => {
      const operator = await Effect.runPromise(
        Effect.orElseSucceed(api.get(mirrordOperators, "operator"), () => undefined)
      )
      const clusters = at(operator, "status", "connected_clusters")
      return (
        Array.isArray(clusters) &&
        clusters.length > 0 &&
        clusters.every((cluster) => at(cluster, "connected") !== undefined)
      )
    }
    yield* Effect.promise(() => untilTrue("the primary connected to every cluster", areConnected))
  }).pipe(Effect.scoped)

/** Calls that the developer was refused, and calls that are not in the users' table. */
const unexpectedOfDeveloper = ({ clusters }: Playground): ReadonlyArray<string> =>
  clusters.flatMap(({ cluster }) => [
    ...cluster
      .callers()
      .filter(({ status, user }) => user === developer && status === 403)
      .map(({ method, path }) => `${cluster.name}: ${method} ${path}`),
    ...outsideOf(["users"], auditedCalls(cluster, developer)).map((row) => `${cluster.name}: ${row}`)
  ])

describeHelm("the chart's rights", (helm) => {
  const chart = new Chart(helm)
  const installs = [
    ["management", "Jobs with TLS", subnetOf("rights of the chart, management"), true, false],
    ["primary-default", "ephemeral containers", subnetOf("rights of the chart, ephemeral agents"), true, true],
    // `npm run test:long` alone: its rights are those of the first one's members and of the second one's primary.
    ["primary-default", "Jobs", subnetOf("rights of the chart, primary-default"), false, false]
  ] as const
  it.each(process.env["BRAID_TEST_LONG"] === "true" ? installs : installs.slice(0, 2))(
    "are enough for a whole session in topology %s, whose agents are %s, and for its developer",
    async (name: TopologyName, _agents, subnet, agentTls, ephemeral) => {
      const agent = { tls: agentTls, extraConfig: { ephemeral } }
      const primaryRights = await rightsOf(chart, {
        agent,
        operator: { multiCluster: { enabled: true, managementOnly: name === "management" } }
      })
      const memberRights = await rightsOf(chart, { agent, operator: { multiClusterMember: true } })
      const developers = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "developers" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "mirrord-operator-user" },
        subjects: [{ kind: "User", name: developer, apiGroup: "rbac.authorization.k8s.io" }]
      }
      const directory = mkdtempSync(join(tmpdir(), "braid-rights-"))
      const steps: Array<readonly [string, boolean, StepDetails | undefined]> = []
      try {
        const unexpected = await Effect.runPromise(
          Effect.gen(function* () {
            const playground = yield* startPlayground({
              operator: operatorProgram(yield* Effect.promise(stagedProgram)),
              topology: topology(name, subnet),
              directory,
              agentTls,
              agentSettings: { ephemeral },
              sessionTtlSecs: 5,
              remoteSessionTimeoutSecs: 60,
              progress: () => Effect.void
            })
            const since = Date.now()
            // The primary last: what it then says of its members is of their new operators.
            const inOrder = playground.clusters.toSorted(
              (a, b) => Number(a.description.isPrimary) - Number(b.description.isPrimary)
            )
            for (const running of inOrder)
              yield* giveRights(running, running.description.isPrimary ? [...primaryRights, developers] : memberRights)
            const kubeconfigPath = join(directory, "developer.kubeconfig")
            yield* playground.primary.cluster.userKubeconfig({ user: developer, groups: [], path: kubeconfigPath })
            const { primary } = playground
            const asDeveloper = {
              ...playground,
              primary: { ...primary, cluster: { ...primary.cluster, kubeconfigPath } }
            }
            yield* fleetConnected(primary.cluster.kubeconfigPath)
            const administrator = mergedKubeconfig(
              join(directory, "administrator.kubeconfig"),
              playground.clusters.map(({ cluster, description }) => ({ ...cluster, ...description }))
            )
            yield* playStory(asDeveloper, administrator, {
              step: (step, ok, details) => Effect.sync(() => void steps.push([step, ok, details])),
              say: () => Effect.void,
              allOk: () => steps.every(([, ok]) => ok)
            })
            return [
              ...unexpectedCalls(playground, {
                since,
                hasAgentTls: agentTls,
                hasEphemeralAgents: ephemeral,
                // `braid join` does.
                runsDoctor: true
              }),
              ...unexpectedOfDeveloper(playground)
            ]
          }).pipe(Effect.scoped, Effect.provide(quietNode))
        )
        expect(steps.filter(([, ok]) => !ok)).toEqual([])
        expect(steps.map(([step]) => step)).toContain("ended")
        expect(unexpected).toEqual([])
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    }
  )
})
