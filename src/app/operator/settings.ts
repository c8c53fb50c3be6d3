/**
 * The operator's settings, read from its environment and its configuration files. The rules for the fleet are in
 * domain/fleet; nothing here acts on a setting.
 */

import { readFile } from "node:fs/promises"
import { Config, Data, Effect, Option, Result, Schema } from "effect"
import { parseDocument } from "yaml"
import type { AgentSettings } from "../../adapters/pod/agent-job.ts"
import type { ConfigurationMistake, FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { type ConfigurationDocument, parseFleetConfiguration } from "../../domain/fleet/parse-configuration.ts"
import { leaseTimesProblem, usualLeaseTimes } from "../../domain/leadership/lease-times.ts"
import type { ListenAddress } from "../api/aggregated-api.ts"
import type { Candidacy } from "./run-replica.ts"

/** The configuration keeps the operator from starting; exit code 2. Holds every mistake at once, one sentence each. */
export class RefusedConfiguration extends Data.TaggedError("RefusedConfiguration")<{
  readonly mistakes: ReadonlyArray<ConfigurationMistake>
}> {
  override get message(): string {
    return this.mistakes.map(({ message }) => message).join("\n")
  }
}

export interface Settings {
  readonly host: string
  readonly port: number
  /** The address to use if this machine does not have the first. */
  readonly fallback: ListenAddress | undefined
  readonly namespace: string
  readonly requireFrontProxy: boolean
  /** Files of the serving certificate; without them the operator signs its own at each start. */
  readonly certificate: { readonly certificatePath: string; readonly keyPath: string } | undefined
  readonly agents: AgentSettings
  readonly fleet: FleetConfiguration | undefined
  /** How this process takes part in the election of the leader; missing if it does not know its pod. */
  readonly candidacy: Candidacy | undefined
  readonly jsonLog: boolean
}

/** Parses the text of a configuration file. An empty file counts as absent. */
export const documentOf = (text: string): ConfigurationDocument => {
  if (text.trim() === "") return { _tag: "Absent" }
  const document = parseDocument(text)
  const [error] = document.errors
  return error === undefined
    ? { _tag: "Parsed", value: document.toJS() as unknown }
    : { _tag: "NotYaml", reason: error.message }
}

const readDocument = (path: string | undefined): Effect.Effect<ConfigurationDocument> =>
  path === undefined
    ? Effect.succeed({ _tag: "Absent" })
    : Effect.tryPromise(() => readFile(path, "utf8")).pipe(
        Effect.map(documentOf),
        Effect.catch((error) =>
          Effect.succeed<ConfigurationDocument>({ _tag: "Unreadable", reason: String(error.cause) })
        )
      )

const splitAddress = (address: string): ListenAddress => {
  const at = address.lastIndexOf(":")
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) }
}

const greatestPort = 65_535
/** In s: a lease of more than a day serves nobody. */
const greatestLeaseTime = 86_400

/** `[::]:443`, `0.0.0.0:443` or `127.0.0.1:0`. */
const Address = Schema.String.check(
  Schema.makeFilter((address) =>
    /^(\[[0-9a-f:.]+\]|[^:[\]]+):\d{1,5}$/iu.test(address) && splitAddress(address).port <= greatestPort
      ? undefined
      : "Expected <address>:<port>, such as [::]:443 or 0.0.0.0:443"
  )
)

/** A number in digits alone, so that the chart can check it as well: no `1e3`, no `NaN`. */
const wholeNumber = (name: string, greatest: number) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((digits) =>
        /^[1-9]\d{0,4}$/u.test(digits) && Number(digits) <= greatest
          ? undefined
          : `Expected a whole number from 1 to ${greatest}`
      )
    ),
    name
  ).pipe(Config.map(Number))

const text = (name: string) => Config.option(Config.String(name))
const seconds = (name: string, otherwise: number) =>
  wholeNumber(name, greatestLeaseTime).pipe(
    Config.map((value) => value * 1000),
    Config.withDefault(otherwise)
  )

/** The environment's setting for the fleet, which overrides its files. */
export const primaryManagementOnly = Config.option(Config.Boolean("PRIMARY_MANAGEMENT_ONLY")).pipe(
  Config.map(Option.getOrUndefined)
)

/** The environment of the published chart (published-chart.md §2.8), as far as the operator uses it. */
const environment = Config.all({
  address: Config.schema(Address, "OPERATOR_ADDR").pipe(Config.withDefault("[::]:443")),
  fallback: Config.option(Config.schema(Address, "OPERATOR_FALLBACK_ADDR")),
  namespace: Config.String("MIRRORD_OPERATOR_NAMESPACE").pipe(Config.withDefault("mirrord")),
  requireFrontProxy: Config.Boolean("OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT").pipe(Config.withDefault(true)),
  podName: text("OPERATOR_POD_NAME"),
  podUid: text("OPERATOR_POD_UID"),
  leaseDuration: seconds("OPERATOR_LEASE_DURATION_SECS", usualLeaseTimes.leaseDuration),
  renewDeadline: seconds("OPERATOR_LEASE_RENEW_DEADLINE_SECS", usualLeaseTimes.renewDeadline),
  retryPeriod: seconds("OPERATOR_LEASE_RETRY_PERIOD_SECS", usualLeaseTimes.retryPeriod),
  jsonLog: Config.Boolean("OPERATOR_JSON_LOG").pipe(Config.withDefault(false)),
  certificatePath: text("OPERATOR_TLS_CERT_PATH"),
  keyPath: text("OPERATOR_TLS_KEY_PATH"),
  agentPort: Config.option(wholeNumber("OPERATOR_AGENT_PORT", greatestPort)),
  agentImage: Config.String("MIRRORD_AGENT_IMAGE").pipe(Config.withDefault("ghcr.io/metalbear-co/mirrord:3.250.0")),
  agentPullPolicy: Config.String("MIRRORD_AGENT_IMAGE_PULL_POLICY").pipe(Config.withDefault("IfNotPresent")),
  agentNamespace: text("MIRRORD_AGENT_NAMESPACE"),
  agentLogLevel: Config.String("MIRRORD_AGENT_RUST_LOG").pipe(Config.withDefault("info")),
  multiClusterFile: text("MIRRORD_MULTICLUSTER_CONFIG"),
  clustersFile: text("MIRRORD_CLUSTERS_CONFIG"),
  managementOnly: primaryManagementOnly
})

const leaseMistake = (problem: string): ConfigurationMistake => ({
  file: "environment",
  field: "OPERATOR_LEASE_DURATION_SECS, OPERATOR_LEASE_RENEW_DEADLINE_SECS, OPERATOR_LEASE_RETRY_PERIOD_SECS",
  value: problem,
  cure: "leave them out for 15, 10 and 2",
  message:
    "OPERATOR_LEASE_DURATION_SECS, OPERATOR_LEASE_RENEW_DEADLINE_SECS and OPERATOR_LEASE_RETRY_PERIOD_SECS do not " +
    `fit together: ${problem}; leave them out for 15, 10 and 2.`
})

export const readSettings = (
  sha256Hex: (text: string) => string
): Effect.Effect<Settings, RefusedConfiguration | Config.ConfigError> =>
  Effect.gen(function* () {
    const env = yield* environment
    const multiCluster = yield* readDocument(Option.getOrUndefined(env.multiClusterFile))
    const clusters = yield* readDocument(Option.getOrUndefined(env.clustersFile))
    const fleet = Option.isNone(env.multiClusterFile)
      ? undefined
      : parseFleetConfiguration({ multiCluster, clusters, managementOnly: env.managementOnly }, sha256Hex)
    if (fleet !== undefined && Result.isFailure(fleet))
      return yield* new RefusedConfiguration({ mistakes: fleet.failure })
    const { leaseDuration, renewDeadline, retryPeriod } = env
    const times = { leaseDuration, renewDeadline, retryPeriod }
    const problem = leaseTimesProblem(times)
    if (problem !== undefined) return yield* new RefusedConfiguration({ mistakes: [leaseMistake(problem)] })
    const [podName, podUid] = [Option.getOrElse(env.podName, () => ""), Option.getOrElse(env.podUid, () => "")]
    const [certificatePath, keyPath] = [Option.getOrUndefined(env.certificatePath), Option.getOrUndefined(env.keyPath)]
    return {
      ...splitAddress(env.address),
      fallback: Option.getOrUndefined(Option.map(env.fallback, splitAddress)),
      namespace: env.namespace,
      requireFrontProxy: env.requireFrontProxy,
      jsonLog: env.jsonLog,
      certificate: certificatePath === undefined || keyPath === undefined ? undefined : { certificatePath, keyPath },
      agents: {
        image: env.agentImage,
        imagePullPolicy: env.agentPullPolicy,
        namespace: Option.getOrElse(env.agentNamespace, () => env.namespace),
        port: Option.getOrUndefined(env.agentPort),
        idleTtlSecs: 60,
        startupTimeoutSecs: 60,
        logLevel: env.agentLogLevel
      },
      candidacy: podName === "" || podUid === "" ? undefined : { pod: { name: podName, uid: podUid }, times },
      fleet: fleet?.success
    }
  })
