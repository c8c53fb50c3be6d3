/**
 * Finds the installation that `braid doctor` examines: as the operator itself, from its environment and files, or with
 * a person's kubeconfig, from the operator's Deployment and ConfigMap.
 *
 * Not here: the clusters of the installation, which are examined afterwards.
 */

import { readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { KubeConfig } from "@kubernetes/client-node"
import { Config, ConfigProvider, Effect, Result, type Scope, Struct } from "effect"
import { documentOf } from "../../../adapters/files/configuration-files.ts"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { parseAgentConfiguration, defaultAgentConfiguration } from "../../../domain/agents/agent-configuration.ts"
import type { ValuesOf } from "../../../domain/catalogue/setting.ts"
import { failed, type Finding, warning } from "../../../domain/commands/doctor/finding.ts"
import { type InstalledParts, noParts, rightSwitches } from "../../../domain/commands/doctor/needed-rights.ts"
import { unusedValueFindings, unusedValuesFile } from "../../../domain/commands/doctor/unused-values.ts"
import { copySettings } from "../../../domain/copies/settings.ts"
import { parseAccessProviders } from "../../../domain/fleet/access-providers.ts"
import type { FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import {
  type ConfigurationDocument,
  type FleetDocuments,
  parseFleetConfiguration
} from "../../../domain/fleet/parse-configuration.ts"
import type { ClusterSearch } from "../../../domain/fleet/provided-clusters.ts"
import { fleetSettings } from "../../../domain/fleet/settings.ts"
import { asObjects, asString, at } from "../../../domain/json.ts"
import { outboundSettings } from "../../../domain/outbound/settings.ts"
import { configMaps, deployments } from "../../../domain/resources/core-kinds.ts"
import { serverSettings } from "../../../domain/server/settings.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { branchedEngines } from "../../branches/branch-environment.ts"
import { configOf, switchesOf } from "../../kernel/setting-values.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { ownKubeConfig } from "../../operator/own-kube-config.ts"
import { readSettings, searchWithin, type Settings } from "../../operator/settings.ts"
import { type KubeConfigChoice, userKubeConfig } from "../user-kube-config.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"

/** An operator's installation, as known before its clusters are examined. */
export interface Installation {
  readonly seenFrom: "operator" | "kubeconfig"
  readonly config: KubeConfig
  /** The cluster that the operator runs in, as `config` may use it. */
  readonly own: KubeApi
  readonly namespace: string
  readonly agentNamespace: string
  readonly kept: InstalledParts
  readonly fleet: FleetConfiguration | undefined
  /** How the operator finds further clusters by itself. */
  readonly search: ClusterSearch
  readonly account: ExaminedCluster["account"]
  readonly findings: ReadonlyArray<Finding>
  /** Findings about values of the chart that have no effect, for the doctor alone. */
  readonly unused?: ReadonlyArray<Finding>
  /** Where the configuration of a primary stands, as a person's kubeconfig shows it. */
  readonly sources?: FleetSources
}

/** The objects that hold the configuration of a primary. */
export interface FleetSources {
  readonly configMap: KubeObject
  readonly documents: FleetDocuments
  /** Key of the list of clusters; `undefined` if the operator has no list. */
  readonly clustersKey: string | undefined
}

/** The reason why no cluster can be examined. */
export interface NoInstallation {
  readonly _tag: "NoInstallation"
  readonly seenFrom: Installation["seenFrom"]
  readonly findings: ReadonlyArray<Finding>
}

const noInstallation = (seenFrom: Installation["seenFrom"], findings: ReadonlyArray<Finding>): NoInstallation => ({
  _tag: "NoInstallation",
  seenFrom,
  findings
})

const noSearch: ClusterSearch = {
  providers: [],
  clusterApiNamespace: "",
  kubeconfigFile: "",
  kubeconfigDirectory: "",
  clusterProfileNamespace: "",
  accessProviders: []
}

const correctValues =
  "Correct operator.multiCluster in the chart's values, upgrade the release and restart the operator."

const wrongEnvironment = ({ message }: Config.ConfigError): Finding =>
  failed(
    "configuration",
    `The environment of the operator is wrong: ${message}.`,
    "Correct operator.extraEnv in the chart's values."
  )

/** The lines that the chart wrote beside the operator's files; `undefined` if it wrote none. */
const mountedUnusedValues = (): string | undefined => {
  try {
    return readFileSync(join(dirname(process.env["OPERATOR_AGENT_CONFIG"] ?? ""), unusedValuesFile), "utf8")
  } catch {
    return undefined
  }
}

/** The parts that need rights of their own, as the operator's settings have them. */
export const installedParts = ({ agents, branchSettings, values }: Settings): InstalledParts => ({
  ...partsOf(values),
  ephemeralAgents: agents.ephemeral,
  asksNodes: agents.checkOutOfPods,
  switches: switchesOf(values),
  branching: Struct.keys(branchSettings)
})

/** The installation as the operator itself sees it: from its environment, its files and its identity. */
export const operatorsInstallation: Effect.Effect<Installation, NoInstallation, Scope.Scope> = Effect.gen(function* () {
  const settings = yield* readSettings(sha256Hex).pipe(
    Effect.mapError((error) =>
      noInstallation(
        "operator",
        error._tag === "RefusedConfiguration"
          ? error.mistakes.map(({ message }) => failed("configuration", message, correctValues))
          : [wrongEnvironment(error)]
      )
    )
  )
  const config = yield* Effect.try({
    try: ownKubeConfig,
    catch: () =>
      noInstallation("operator", [
        failed(
          "configuration",
          "No cluster is configured: neither KUBECONFIG nor a service account can be used.",
          "Run it in the operator's pod, or from elsewhere with --kubeconfig."
        )
      ])
  })
  return {
    seenFrom: "operator",
    config,
    own: yield* makeKubeApi(config, "own"),
    namespace: settings.namespace,
    agentNamespace: settings.agents.namespace,
    kept: installedParts(settings),
    fleet: settings.fleet,
    search: settings.search,
    account: undefined,
    findings: [],
    unused: unusedValueFindings(mountedUnusedValues())
  } as const
})

const operatorName = "mirrord-operator"
const configMapName = "mirrord-configmap"

/** The environment of the first container of a Deployment, by the variables' names. */
const environment = (deployment: KubeObject): ReadonlyMap<string, string> => {
  const [container] = asObjects(at(deployment, "spec", "template", "spec", "containers"))
  return new Map(
    asObjects(at(container, "env")).map(({ name, value }) => [asString(name) ?? "", asString(value) ?? ""])
  )
}

/** The file to which a variable points. */
const documentIn = (configMap: KubeObject, env: ReadonlyMap<string, string>, variable: string): ConfigurationDocument =>
  documentOf(asString(at(configMap, "data", basename(env.get(variable) ?? ""))) ?? "")

const sourcesOf = (
  configMap: KubeObject,
  env: ReadonlyMap<string, string>,
  settings: Pick<FleetDocuments, "findsClusters" | "managementOnly">
): FleetSources => {
  const list = env.get("MIRRORD_CLUSTERS_CONFIG")
  return {
    configMap,
    documents: {
      multiCluster: documentIn(configMap, env, "MIRRORD_MULTICLUSTER_CONFIG"),
      clusters: documentIn(configMap, env, "MIRRORD_CLUSTERS_CONFIG"),
      ...settings
    },
    clustersKey: list === undefined ? undefined : basename(list)
  }
}

/** The shape of agents. A file that the operator refuses counts as empty here: its log says what is wrong with it. */
const agentPartsOf = (
  configMap: KubeObject,
  env: ReadonlyMap<string, string>
): Pick<InstalledParts, "asksNodes" | "ephemeralAgents"> => {
  const file = parseAgentConfiguration(documentIn(configMap, env, "OPERATOR_AGENT_CONFIG"), "")
  const { checkOutOfPods, ephemeral } = Result.getOrElse(file, () => defaultAgentConfiguration)
  return { asksNodes: checkOutOfPods, ephemeralAgents: ephemeral }
}

/**
 * The finding for an unreadable object of the installation. There is none if the cluster does not answer: the
 * examination of the cluster reports that. `object`: kind and name.
 */
const unread = (error: KubeError, object: string, namespace: string): ReadonlyArray<Finding> => {
  switch (error.reason) {
    case "NotFound":
      return [
        failed(
          "configuration",
          `There is no ${object} in namespace ${namespace}.`,
          "Name the operator's namespace with --namespace, or install the chart."
        )
      ]
    case "Forbidden":
      return [
        warning(
          "configuration",
          `The ${object} in namespace ${namespace} may not be read, so neither members nor settings are known: ` +
            `${error.detail}.`,
          "Use a kubeconfig that may read it, or run it as the operator: helm test."
        )
      ]
    default:
      return []
  }
}

/** The variables of a Deployment that the examination depends on; the operator itself judges the others. */
const judgedSettings = {
  ownCertificate: serverSettings.ownCertificate,
  makesCopies: copySettings.makesCopies,
  peopleGroups: outboundSettings.peopleGroups,
  peopleExtraKeys: outboundSettings.peopleExtraKeys,
  peoplePrefix: outboundSettings.peoplePrefix,
  ...fleetSettings
}

const partsOf = ({
  makesCopies,
  ownCertificate,
  peopleExtraKeys,
  peopleGroups,
  peoplePrefix
}: ValuesOf<typeof judgedSettings>): Pick<InstalledParts, "copies" | "ownCertificate" | "people"> => ({
  copies: makesCopies,
  ownCertificate,
  people: { groups: peopleGroups, extraKeys: peopleExtraKeys, prefix: peoplePrefix }
})

/**
 * The installation as a person's kubeconfig shows it: from the operator's Deployment and ConfigMap. Members are reached
 * from this machine, with the operator's credentials. Rights are asked for the operator's service account by name.
 */
export const installationByKubeConfig = Effect.fnUntraced(function* (
  choice: KubeConfigChoice,
  namespace: string
): Effect.fn.Return<Installation, NoInstallation, Scope.Scope> {
  const config = yield* userKubeConfig(choice).pipe(
    Effect.mapError(({ message }) =>
      noInstallation("kubeconfig", [
        failed("configuration", message, "Give one with --kubeconfig or KUBECONFIG, and choose with --context.")
      ])
    )
  )
  const own = yield* makeKubeApi(config, "own")
  const known = { seenFrom: "kubeconfig", config, own, namespace, search: noSearch } as const
  const account = (name: string) => ({ namespace, name })
  const deployment = yield* Effect.result(own.get(deployments, operatorName, namespace))
  if (Result.isFailure(deployment)) {
    return {
      ...known,
      agentNamespace: namespace,
      kept: noParts,
      fleet: undefined,
      account: account(operatorName),
      findings: unread(deployment.failure, `Deployment ${operatorName}`, namespace)
    }
  }
  const env = environment(deployment.success)
  // A variable without text counts as left out, as in the operator.
  const given = ConfigProvider.fromEnv({ env: Object.fromEntries([...env].filter(([, text]) => text !== "")) })
  const { branching, switches, values } = yield* Config.all({
    values: configOf(judgedSettings),
    switches: configOf(rightSwitches),
    branching: branchedEngines
  })
    .parse(given)
    .pipe(Effect.mapError((error) => noInstallation("kubeconfig", [wrongEnvironment(error)])))
  const configMap = yield* Effect.result(own.get(configMaps, configMapName, namespace))
  const installed = {
    ...known,
    agentNamespace: env.get("MIRRORD_AGENT_NAMESPACE") ?? namespace,
    kept: {
      ...noParts,
      ...partsOf(values),
      switches,
      branching,
      ...(Result.isSuccess(configMap) ? agentPartsOf(configMap.success, env) : {})
    },
    account: account(asString(at(deployment.success, "spec", "template", "spec", "serviceAccountName")) ?? operatorName)
  }
  if (Result.isFailure(configMap))
    return {
      ...installed,
      fleet: undefined,
      findings: unread(configMap.failure, `ConfigMap ${configMapName}`, namespace)
    }
  const unused = unusedValueFindings(asString(at(configMap.success, "data", unusedValuesFile)))
  if (!env.has("MIRRORD_MULTICLUSTER_CONFIG")) return { ...installed, fleet: undefined, findings: [], unused }
  const findsClusters = values.providers.length > 0
  const sources = sourcesOf(configMap.success, env, { findsClusters, managementOnly: values.managementOnly })
  const access = parseAccessProviders(documentIn(configMap.success, env, "OPERATOR_ACCESS_PROVIDERS"))
  const both = Result.all({ fleet: parseFleetConfiguration(sources.documents, sha256Hex), access })
  if (Result.isFailure(both)) {
    const findings = both.failure.map(({ message }) => failed("configuration", message, correctValues))
    return yield* Effect.fail(noInstallation("kubeconfig", findings))
  }
  const found = searchWithin(values, both.success.access, namespace)
  return { ...installed, fleet: both.success.fleet, search: found, sources, findings: [], unused }
})
