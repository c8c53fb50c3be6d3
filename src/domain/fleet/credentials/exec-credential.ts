/**
 * The exec plugin protocol of Kubernetes' clients (KEP-541, `client.authentication.k8s.io`): the input of a program
 * that gives credentials, how its answer is read, and what its failures mean.
 *
 * Not here: which program is run (domain/fleet/access-providers.ts), running it (adapters/exec-plugin), and when it is
 * asked again (made-credentials.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quotation, quoted } from "../../clean-text.ts"
import { asObject, asString, isObject, type JsonObject } from "../../json.ts"
import { timeOf } from "../../resources/object-meta.ts"
import { encodeBase64Text } from "./base64.ts"
import { readPem } from "./pem.ts"
import { withoutSecrets } from "./sdk-error.ts"
import { unusableCharacter } from "./token-text.ts"
import { momentText } from "./validity.ts"

/** The versions of the protocol that are spoken, the usual first. */
export const execApiVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const
export type ExecApiVersion = (typeof execApiVersions)[number]

/** Variable with a program's input. */
export const execInfoVariable = "KUBERNETES_EXEC_INFO"

/** Seconds that a program may take. */
export const execPatienceSecs = 10
/** Bytes that a program may write. */
export const maxExecOutput = 65_536

/** The cluster as a program sees it. */
export interface ExecCluster {
  readonly server: string | undefined
  /** PEM. */
  readonly certificateAuthority: string | undefined
  /** JSON of the cluster's extension `client.authentication.k8s.io/exec`. */
  readonly config: string | undefined
}

/** The value of `KUBERNETES_EXEC_INFO`. `cluster`: undefined if the program does not see it. */
export const execInfo = (apiVersion: ExecApiVersion, cluster: ExecCluster | undefined): string => {
  if (cluster === undefined) return JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { interactive: false } })
  const { certificateAuthority: ca, config, server } = cluster
  const told = {
    server,
    ...(ca === undefined ? {} : { "certificate-authority-data": encodeBase64Text(ca) }),
    ...(config === undefined ? {} : { config: JSON.parse(config) as unknown })
  }
  return JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { cluster: told, interactive: false } })
}

/** The credentials that a program gave. */
export interface ExecCredential {
  readonly credentials:
    | { readonly _tag: "BearerToken"; readonly token: Redacted.Redacted }
    | { readonly _tag: "ClientCertificate"; readonly certificatePem: string; readonly keyPem: Redacted.Redacted }
  /** When they end, epoch ms of the cluster's clock; undefined: when the cluster refuses them. */
  readonly until: number | undefined
}

const certificate = "clientCertificateData"
const key = "clientKeyData"

const textField = (status: JsonObject, field: string): Result.Result<string, string> => {
  const found = status[field] ?? ""
  return typeof found === "string" ? Result.succeed(found.trim()) : Result.fail(`its status.${field} is no text`)
}

const credentialsOf = (status: JsonObject): Result.Result<ExecCredential["credentials"], string> =>
  Result.gen(function* () {
    const [chain, privateKey] = [yield* textField(status, certificate), yield* textField(status, key)]
    const token = yield* textField(status, "token")
    // An API server looks at the certificate first, if it gets both.
    if (chain !== "" && privateKey !== "") {
      const certificatePem = yield* Result.mapError(readPem(chain), () => `its status.${certificate} is no PEM`)
      const keyPem = yield* Result.mapError(readPem(privateKey), () => `its status.${key} is no PEM`)
      return { _tag: "ClientCertificate", certificatePem, keyPem: Redacted.make(keyPem) } as const
    }
    if (chain !== "" || privateKey !== "") {
      const [has, lacks] = chain === "" ? [key, certificate] : [certificate, key]
      return yield* Result.fail(`its status has ${has} without ${lacks}`)
    }
    if (token === "") return yield* Result.fail(`its status has neither token nor ${certificate}`)
    const problem = unusableCharacter(token)
    return problem === undefined
      ? ({ _tag: "BearerToken", token: Redacted.make(token) } as const)
      : yield* Result.fail(`its status.token cannot be used: ${problem}`)
  })

const endOf = ({ expirationTimestamp: found }: JsonObject): Result.Result<number | undefined, string> => {
  if (found === undefined || found === null || found === "") return Result.succeed(undefined)
  const text = asString(found) ?? ""
  const time = /^\d{4}-\d\d-\d\d[Tt ]/u.test(text) ? timeOf(text) : undefined
  return time === undefined
    ? Result.fail(`its status.expirationTimestamp is ${quoted(text)}, which is no time as of RFC 3339`)
    : Result.succeed(time)
}

const parsed = (text: string): Result.Result<JsonObject, string> => {
  const value = Result.try((): unknown => JSON.parse(text))
  const what = text.trim() === "" ? "nothing" : "no JSON"
  return Result.isSuccess(value) && isObject(value.success)
    ? Result.succeed(value.success)
    : Result.fail(`it wrote ${what} where an ExecCredential must be`)
}

/**
 * Reads what a program wrote. The failure is a clause about the program, without any credential. `now`: epoch ms of the
 * cluster's clock.
 */
export const readExecCredential = (
  text: string,
  apiVersion: ExecApiVersion,
  now: number
): Result.Result<ExecCredential, string> =>
  Result.gen(function* () {
    const answer = yield* parsed(text)
    for (const [field, right] of Object.entries({ apiVersion, kind: "ExecCredential" }))
      if (answer[field] !== right)
        return yield* Result.fail(`its ${field} is ${quoted(asString(answer[field]) ?? "")} and must be ${right}`)
    const status = asObject(answer["status"])
    const credentials = yield* credentialsOf(status)
    const until = yield* endOf(status)
    if (until !== undefined && until <= now)
      return yield* Result.fail(`its credentials ended already at ${momentText(until)}, by the cluster's clock`)
    return { credentials, until }
  })

/** A run of a program that gave no answer. */
export type ExecFailure =
  /** `code`: of the system, such as `ENOENT`. */
  | { readonly _tag: "NotStarted"; readonly code: string }
  | { readonly _tag: "TooSlow" }
  | { readonly _tag: "TooMuch" }
  /** `how`: its exit code, or the name of the signal that ended it. `stderr`: as it wrote it. */
  | { readonly _tag: "Failed"; readonly how: number | string; readonly stderr: string }

const startProblems: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist in the operator's pod; mount it there (operator.extraVolumes), or correct its command",
  EACCES: "it is not executable; mount it with mode 0555, or correct its command",
  E2BIG: "what it would be told is too long; shorten the extension client.authentication.k8s.io/exec of the profile"
}

/** The first line of a program's errors that has words, without what may be secret. */
const firstLine = (stderr: string): string =>
  quotation(
    withoutSecrets(
      stderr
        .split(/[\n\r]/u)
        .find((line) => line.trim() !== "")
        ?.trim() ?? ""
    )
  )

/** A clause about the program. */
export const execFailureClause = (failure: ExecFailure): string => {
  switch (failure._tag) {
    case "NotStarted":
      return startProblems[failure.code] ?? `it cannot be started (${failure.code}); look at the pod's limits`
    case "TooSlow":
      return `it had not ended after ${execPatienceSecs} s and was killed; see what it waits for, such as a terminal`
    case "TooMuch":
      return `it wrote more than ${maxExecOutput / 1_024} KiB and was killed; it may write an ExecCredential only`
    case "Failed": {
      const line = firstLine(failure.stderr)
      const how = typeof failure.how === "number" ? `exit code ${failure.how}` : failure.how
      return `it ended with ${how} (${line === "" ? "no word on stderr" : line}); correct what it complains of`
    }
  }
}
