/**
 * Reads the command line of the reference agent, which is that of mirrord's own agent, so that the operator starts both
 * alike; one more option tells it which protocol version to play.
 */

import { Result } from "effect"
import { atLeast, protocolVersion, unannouncedVersion } from "../../src/domain/protocol/version.ts"

/** The target of the agent. `targeted`: a container, named by its id without the runtime's prefix. */
export type AgentMode =
  | { readonly _tag: "Targetless" }
  | { readonly _tag: "Targeted"; readonly containerId: string }
  | { readonly _tag: "Ephemeral" }

export interface AgentArguments {
  readonly port: number
  /** How long to wait for the first client. */
  readonly communicationTimeoutSecs: number
  readonly mode: AgentMode
  /** PEM text; undefined if the command line gives none. */
  readonly operatorCertificate: string | undefined
  /** The protocol version to play. */
  readonly protocolVersion: string
  /** Names of options that the reference agent knows but cannot honour. */
  readonly unsupported: ReadonlyArray<string>
}

const modes: ReadonlySet<string> = new Set(["targetless", "targeted", "ephemeral"])

interface AgentOption {
  readonly name: string
  /** Whether a value follows the option. */
  readonly value: boolean
  readonly supported: boolean
}

/** Plays an earlier version, as agents of earlier releases speak it; no option of mirrord's own agent. */
export const protocolVersionOption = "--protocol-version"

/** Options before the mode word (agent.md §3.1). */
const agentOptions: ReadonlyMap<string, AgentOption> = new Map([
  ["-l", { name: "port", value: true, supported: true }],
  ["--communicate-port", { name: "port", value: true, supported: true }],
  ["-t", { name: "timeout", value: true, supported: true }],
  ["--communication-timeout", { name: "timeout", value: true, supported: true }],
  ["--metrics", { name: "metrics", value: true, supported: false }],
  ["--operator-tls-cert-pem", { name: "tls", value: true, supported: true }],
  ["--test-error", { name: "test-error", value: false, supported: false }],
  ["--is-mesh", { name: "is-mesh", value: false, supported: true }],
  ["--clean-iptables-on-start", { name: "clean", value: false, supported: true }],
  ["--ipv6", { name: "ipv6", value: false, supported: true }],
  [protocolVersionOption, { name: "protocol", value: true, supported: true }]
])

const targetedOptions: ReadonlyMap<string, AgentOption> = new Map([
  ["-c", { name: "container", value: true, supported: true }],
  ["--container-id", { name: "container", value: true, supported: true }],
  ["-r", { name: "runtime", value: true, supported: true }],
  ["--container-runtime", { name: "runtime", value: true, supported: true }],
  ["--mesh", { name: "mesh", value: true, supported: true }]
])

const wholeNumber = (
  text: string | undefined,
  byDefault: number,
  option: string,
  most: number
): Result.Result<number, string> => {
  if (text === undefined) return Result.succeed(byDefault)
  const number = Number(text)
  return /^\d+$/.test(text) && number <= most
    ? Result.succeed(number)
    : Result.fail(`${option} must be a whole number from 0 to ${most}, not ${JSON.stringify(text)}`)
}

const canPlay = (version: string): boolean =>
  /^\d+\.\d+\.\d+$/.test(version) && atLeast(version, unannouncedVersion) && atLeast(protocolVersion, version)

/**
 * Reads the real agent's command line: options, a mode word, the mode's options. `argv` may begin with the program's
 * name. The failure is a sentence; it means exit code 2.
 */
export const parseAgentArguments = (argv: ReadonlyArray<string>): Result.Result<AgentArguments, string> => {
  const first = argv[0]
  const words = first !== undefined && !first.startsWith("-") && !modes.has(first) ? argv.slice(1) : [...argv]
  const values = new Map<string, string>()
  const unsupported: Array<string> = []
  let mode: string | undefined
  while (words.length > 0) {
    const word = words.shift() ?? ""
    if (!word.startsWith("-")) {
      if (mode !== undefined || !modes.has(word)) {
        return Result.fail(`unexpected argument ${JSON.stringify(word)}; the mode is one of ${[...modes].join(", ")}`)
      }
      mode = word
      continue
    }
    const equals = word.startsWith("--") ? word.indexOf("=") : -1
    const name = equals < 0 ? word : word.slice(0, equals)
    const option = (mode === undefined ? agentOptions : targetedOptions).get(name)
    const after = mode === undefined ? "" : ` after ${mode}`
    if (option === undefined) return Result.fail(`unexpected option ${name}${after}`)
    const value = !option.value ? "true" : equals < 0 ? words.shift() : word.slice(equals + 1)
    if (value === undefined) return Result.fail(`option ${name} needs a value`)
    // As in the real agent; a certificate is such a value.
    if (equals < 0 && value.startsWith("-")) {
      return Result.fail(`option ${name} needs a value, and one that begins with a hyphen must follow "="`)
    }
    values.set(option.name, value)
    if (!option.supported) unsupported.push(name)
  }
  const port = wholeNumber(values.get("port"), 61_337, "--communicate-port", 65_535)
  if (Result.isFailure(port)) return Result.fail(port.failure)
  const timeout = wholeNumber(values.get("timeout"), 30, "--communication-timeout", 65_535)
  if (Result.isFailure(timeout)) return Result.fail(timeout.failure)
  const played = values.get("protocol") ?? protocolVersion
  if (!canPlay(played)) {
    const range = `from ${unannouncedVersion} to ${protocolVersion}`
    return Result.fail(`${protocolVersionOption} must be a version ${range}, not ${JSON.stringify(played)}`)
  }
  const done = (chosen: AgentMode) =>
    Result.succeed({
      port: port.success,
      communicationTimeoutSecs: timeout.success,
      mode: chosen,
      operatorCertificate: values.get("tls"),
      protocolVersion: played,
      unsupported
    })
  switch (mode) {
    case "targetless":
      return done({ _tag: "Targetless" })
    case "ephemeral":
      return done({ _tag: "Ephemeral" })
    case "targeted": {
      const containerId = values.get("container")
      return containerId === undefined || containerId === ""
        ? Result.fail("targeted needs --container-id")
        : done({ _tag: "Targeted", containerId })
    }
    default:
      return Result.fail(`a mode is missing: one of ${[...modes].join(", ")}`)
  }
}
