import { Result, Struct } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { stringify } from "yaml"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import type { Settings } from "../../src/app/operator/settings.ts"
import { parseAgentConfiguration } from "../../src/domain/agents/agent-configuration.ts"
import { parseAccessProviders } from "../../src/domain/fleet/access-providers.ts"
import { clusterName, credentialsSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { parseFleetConfiguration } from "../../src/domain/fleet/parse-configuration.ts"
import { asArray, asObject } from "../../src/domain/json.ts"
import { parsed, printed, publishedEnvironment, publishedFiles } from "./agreement/published.ts"
import {
  accessProviderLists,
  agentFiles,
  type Installation,
  installations,
  type MultiCluster,
  multiClusters
} from "./agreement/values.ts"
import { Chart, Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { at } from "./json.ts"
import { settingsFrom, settingsOf, type StartOutcome } from "./operator-settings.ts"

/** A subject about which helm and the operator have to agree. */
interface Subject<Case, Read> {
  readonly cases: fc.Arbitrary<Case>
  readonly examples?: Array<[Case]>
  /** Runs at a landing; a long test makes twice as many. */
  readonly runs: number
  readonly values: (one: Case) => object
  /** The operator's reading where the published chart is installed with the values, or why it refuses them. */
  readonly wanted: (one: Case) => Result.Result<Read, unknown> | Promise<Result.Result<Read, unknown>>
  /** Its reading where ours is. */
  readonly read: (rendered: Rendered) => Result.Result<Read, unknown> | Promise<Result.Result<Read, unknown>>
  readonly alsoExpect?: (rendered: Rendered, one: Case) => void
}

const messagesOf = <Read>(
  read: Result.Result<Read, ReadonlyArray<{ readonly message: string }>>
): Result.Result<Read, ReadonlyArray<string>> =>
  Result.mapError(read, (problems) => problems.map(({ message }) => message))

const fleets: Subject<MultiCluster, unknown> = {
  cases: multiClusters,
  examples: [[{ clusters: {}, defaultCluster: "\u0085\u007f\uffff" }]],
  runs: 75,
  values: (multiCluster) => {
    const withTokens = Object.entries(multiCluster.clusters).map(([name, one]) => [
      name,
      { ...one, bearerToken: "token" }
    ])
    return {
      operator: { multiCluster: { ...multiCluster, enabled: true, clusters: Object.fromEntries(withTokens) } }
    }
  },
  wanted: (multiCluster) => {
    const wanted = messagesOf(parseFleetConfiguration(publishedFiles(multiCluster), sha256Hex))
    const hasClusters = asArray(multiCluster["providers"]).length > 0 || Object.keys(multiCluster.clusters).length > 0
    // The operator would start without a default cluster and say so; helm refuses it.
    return Result.isSuccess(wanted) && wanted.success.defaultCluster === undefined && hasClusters
      ? Result.fail(["no session can start"])
      : wanted
  },
  read: async (rendered) => Result.map(await settingsOf(rendered), ({ fleet }) => fleet),
  alsoExpect: (rendered, { clusters }) => {
    // Secrets are where the operator looks for them.
    const secrets = rendered.ofKind("Secret").map((secret) => at(secret, "metadata", "name"))
    expect(secrets.toSorted()).toEqual(
      Object.keys(clusters)
        .map((name) => credentialsSecretName(clusterName(name), sha256Hex))
        .toSorted()
    )
  }
}

/** The settings without the values that they were read from, which may differ where nothing acts on them. */
const effective = (outcome: StartOutcome): Result.Result<Omit<Settings, "values">, string> =>
  Result.map(outcome, Struct.omit(["values"]))

const environments: Subject<Installation, unknown> = {
  cases: installations,
  runs: 40,
  values: ({ agentPort, allowedNamespaces, multiCluster, sessionsPerUser, ...operator }) => ({
    operator: { ...operator, multiCluster },
    agent: { port: agentPort },
    bounds: { sessionsPerUser },
    targets: { allowedNamespaces }
  }),
  wanted: async (values): Promise<ReturnType<typeof effective>> => {
    const files = publishedFiles(values.multiCluster)
    const file = (name: string): string | undefined => {
      if (name === "agent-config.yaml") return "inject_headers: true\npriority_class: mirrord-agent-pod\n"
      if (name === "access-providers.yaml") return undefined
      const document = name === "clusters-config.yaml" ? files.clusters : files.multiCluster
      return values.multiCluster["enabled"] === true && document._tag === "Parsed"
        ? stringify(document.value)
        : undefined
    }
    // A wrong value stays one where a variable takes its place.
    const withoutExtra = await settingsFrom(publishedEnvironment({ ...values, extraEnv: {} }), file)
    return effective(
      Result.isFailure(withoutExtra) ? withoutExtra : await settingsFrom(publishedEnvironment(values), file)
    )
  },
  read: async (rendered) => effective(await settingsOf(rendered))
}

const accessProviders: Subject<unknown, unknown> = {
  cases: accessProviderLists,
  runs: 50,
  values: (list) => ({
    operator: {
      multiCluster: { enabled: true, providers: ["clusterProfile"], defaultCluster: "a", accessProviders: list }
    }
  }),
  wanted: (list) => {
    const isNone = Array.isArray(list) && list.length === 0
    return messagesOf(parseAccessProviders(isNone ? { _tag: "Absent" } : parsed({ providers: list })))
  },
  read: async (rendered) => Result.map(await settingsOf(rendered), ({ search }) => search.accessProviders)
}

const agents: Subject<Readonly<Record<string, unknown>>, unknown> = {
  cases: agentFiles,
  examples: [[{ image_pull_secrets: "a" }], [{ service_account: {} }], [{ image_pull_secrets: "" }]],
  runs: 50,
  values: (extraConfig) => ({ agent: { extraConfig } }),
  wanted: (extraConfig) => {
    const value = { inject_headers: true, priority_class: "mirrord-agent-pod", ...asObject(printed(extraConfig)) }
    if ("priority_class_name" in extraConfig && !("priority_class" in extraConfig)) value.priority_class = ""
    return messagesOf(parseAgentConfiguration(parsed(value), "agent:1"))
  },
  read: async (rendered) => {
    expect(Result.isSuccess(await settingsOf(rendered))).toBe(true)
    return messagesOf(parseAgentConfiguration(parsed(rendered.fileValue("agent-config.yaml")), "agent:1"))
  }
}

describeHelm("helm and the operator", (helm) => {
  const chart = new Chart(helm)

  const agree = async <Case, Read>(subject: Subject<Case, Read>): Promise<void> => {
    let [accepted, refused] = [0, 0]
    const property = fc.asyncProperty(subject.cases, async (one) => {
      const wanted = await subject.wanted(one)
      const result = await chart.try({ values: subject.values(one) })
      if (result instanceof Rendered) {
        accepted++
        expect(Result.isFailure(wanted) ? wanted.failure : "").toEqual("")
        expect(await subject.read(result)).toEqual(wanted)
        subject.alsoExpect?.(result, one)
      } else {
        refused++
        expect(result.sentences.length > 0 ? "sentences" : result.text).toBe("sentences")
        expect(Result.isFailure(wanted) ? "refused" : `started, but helm says: ${result.sentences.join("; ")}`).toBe(
          "refused"
        )
      }
    })
    const isLong = process.env["BRAID_TEST_LONG"] === "true"
    const { examples = [], runs } = subject
    const parameters = { numRuns: isLong ? 2 * runs : runs, examples }
    // The same cases come again below: what is drawn follows the seed.
    const drawn: Array<Case> = []
    const draws = fc.asyncProperty(subject.cases, (one) => Promise.resolve(void drawn.push(one)))
    await fc.assert(draws, parameters)
    await chart.prepare(drawn.map((one) => ({ values: subject.values(one) })))
    await fc.assert(property, parameters)
    // A generator that makes only one of the two would show nothing.
    expect(Math.min(accepted, refused)).toBeGreaterThan(0)
  }

  it("refuse the same values, and Secrets are where the operator looks for them", () => agree(fleets))
  it("refuse the same environment, and the operator reads the one that helm renders", () => agree(environments))
  it("refuse the same access providers, and the operator reads those that helm renders", () => agree(accessProviders))
  it("refuse the same settings of agents, and the operator reads those that helm renders", () => agree(agents))
})
