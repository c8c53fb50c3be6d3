/**
 * Reads the command line of the reference agent, which is that of mirrord's own agent, so that the operator starts both
 * alike; one more option chooses the protocol version.
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

const wholeNumber = (text: string | undefined, byDefault: number, option: string): Result.Result<number, string> => {
  if (text === undefined) return Result.succeed(byDefault)
  const number = Number(text)
  return /^\d+$/.test(text) && number <= 65_535
    ? Result.succeed(number)
    : Result.fail(`${option} must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`)
}

const canPlay = (version: string): boolean =>
  /^\d+\.\d+\.\d+$/.test(version) && atLeast(version, unannouncedVersion) && atLeast(protocolVersion, version)

/** The words of a command line, sorted. */
interface Words {
  readonly values: ReadonlyMap<string, string>
  readonly unsupported: ReadonlyArray<string>
  readonly mode: string | undefined
}

/** An option's name and, if it stands in the same word, its value. */
const cut = (word: string): readonly [name: string, value: string | undefined] => {
  const equals = word.startsWith("--") ? word.indexOf("=") : -1
  return equals < 0 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)]
}

/** The value of an option; it may be the next of `words`, which is then taken. The failure is a sentence. */
const valueOf = (word: string, option: AgentOption, words: Array<string>): Result.Result<string, string> => {
  const [name, joined] = cut(word)
  const value = option.value ? (joined ?? words.shift()) : "true"
  if (value === undefined) return Result.fail(`option ${name} needs a value`)
  // As in the real agent; a certificate is such a value.
  if (joined === undefined && value.startsWith("-")) {
    return Result.fail(`option ${name} needs a value, and one that begins with a hyphen must follow "="`)
  }
  return Result.succeed(value)
}

const sortWords = (words: Array<string>): Result.Result<Words, string> => {
  const values = new Map<string, string>()
  const unsupported: Array<string> = []
  let mode: string | undefined
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith("-")) {
      if (mode !== undefined || !modes.has(word)) {
        return Result.fail(`unexpected argument ${JSON.stringify(word)}; the mode is one of ${[...modes].join(", ")}`)
      }
      mode = word
      continue
    }
    const [name] = cut(word)
    const option = (mode === undefined ? agentOptions : targetedOptions).get(name)
    if (option === undefined) {
      return Result.fail(`unexpected option ${name}${mode === undefined ? "" : ` after ${mode}`}`)
    }
    const value = valueOf(word, option, words)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    values.set(option.name, value.success)
    if (!option.supported) unsupported.push(name)
  }
  return Result.succeed({ values, unsupported, mode })
}

const modeOf = ({ mode, values }: Words): Result.Result<AgentMode, string> => {
  switch (mode) {
    case "targetless":
      return Result.succeed({ _tag: "Targetless" })
    case "ephemeral":
      return Result.succeed({ _tag: "Ephemeral" })
    case "targeted": {
      const containerId = values.get("container") ?? ""
      return containerId === ""
        ? Result.fail("targeted needs --container-id")
        : Result.succeed({ _tag: "Targeted", containerId })
    }
    default:
      return Result.fail(`a mode is missing: one of ${[...modes].join(", ")}`)
  }
}

const playedVersion = ({ values }: Words): Result.Result<string, string> => {
  const played = values.get("protocol") ?? protocolVersion
  if (canPlay(played)) return Result.succeed(played)
  const range = `from ${unannouncedVersion} to ${protocolVersion}`
  return Result.fail(`${protocolVersionOption} must be a version ${range}, not ${JSON.stringify(played)}`)
}

/**
 * Reads the real agent's command line: options, a mode word, the mode's options. `argv` may begin with the program's
 * name. The failure is a sentence; it means exit code 2.
 */
export const parseAgentArguments = (argv: ReadonlyArray<string>): Result.Result<AgentArguments, string> =>
  Result.gen(function* () {
    const [first = "-", ...rest] = argv
    const words = yield* sortWords(first.startsWith("-") || modes.has(first) ? [...argv] : rest)
    const { unsupported, values } = words
    return {
      port: yield* wholeNumber(values.get("port"), 61_337, "--communicate-port"),
      communicationTimeoutSecs: yield* wholeNumber(values.get("timeout"), 30, "--communication-timeout"),
      protocolVersion: yield* playedVersion(words),
      mode: yield* modeOf(words),
      operatorCertificate: values.get("tls"),
      unsupported
    }
  })
