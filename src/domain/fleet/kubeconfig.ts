/**
 * Reads a kubeconfig as the address of a cluster and the credentials for it: those of one context.
 *
 * Only what stands in the text itself is used. A file, a program, a proxy or a cluster without TLS that it names would
 * be the operator's own, so each is refused with a sentence.
 *
 * Not here: where kubeconfigs come from (app/fleet/cluster-providers.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { asObject, asObjects, asString, type JsonObject } from "../json.ts"
import { readPem } from "./credentials/pem.ts"
import type { ConfigurationDocument } from "./parse-configuration.ts"

/** The credentials of a kubeconfig's user. */
export type KubeconfigCredentials =
  | { readonly _tag: "BearerToken"; readonly token: Redacted.Redacted }
  | { readonly _tag: "ClientCertificate"; readonly certificatePem: string; readonly keyPem: Redacted.Redacted }

/** The cluster of a kubeconfig, with the user for it. */
export interface KubeconfigCluster {
  /** URL of the API server, as written. */
  readonly server: string
  /** PEM of the API server's CA; without it the system's roots are used. */
  readonly certificateAuthority: string | undefined
  readonly credentials: KubeconfigCredentials
}

/** A field that would make the operator do something for the author of a kubeconfig, and what to write instead. */
type Refused = Readonly<Record<string, string>>

const refusedOfCluster: Refused = {
  "certificate-authority": "write the CA itself into certificate-authority-data",
  "insecure-skip-tls-verify": "write the CA of the API server into certificate-authority-data",
  "proxy-url": "leave it out, and set HTTPS_PROXY for the operator (operator.extraEnv)",
  "tls-server-name": "give an address that the API server's certificate is for"
}

const token = "write a token of a service account that stands for the operator into token"
const refusedOfUser: Refused = {
  exec: `the operator runs no program of a kubeconfig; ${token}`,
  "auth-provider": token,
  tokenFile: token,
  username: token,
  password: token,
  "client-certificate": "write the certificate itself into client-certificate-data",
  "client-key": "write the key itself into client-key-data",
  as: "leave it out; the operator acts in its own name",
  "as-user-extra": "leave it out; the operator acts in its own name",
  "as-groups": "leave it out; the operator acts in its own name",
  "as-uid": "leave it out; the operator acts in its own name"
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== "" && value !== false

const refusal = (fields: JsonObject, refused: Refused): Result.Result<void, string> => {
  const [found] = Object.entries(refused).filter(([field]) => isSet(fields[field]))
  return found === undefined ? Result.succeed(undefined) : Result.fail(`it has ${found[0]}; ${found[1]}`)
}

/** The entry of a list that a name leads to. `kind`: such as `cluster`, the key of the entry's content as well. */
const named = (config: JsonObject, kind: string, name: string): Result.Result<JsonObject, string> => {
  const list = asObjects(config[`${kind}s`])
  const found = list.find((entry) => entry["name"] === name)
  if (found !== undefined) return Result.succeed(asObject(found[kind]))
  const names = list.flatMap((entry) => asString(entry["name"]) ?? []).map(quoted)
  const cure = names.length === 0 ? `add it to ${kind}s` : `name one of ${names.join(", ")}`
  return Result.fail(`it has no ${kind} ${quoted(name)}; ${cure}`)
}

const pemField = (fields: JsonObject, field: string): Result.Result<string | undefined, string> => {
  const found = fields[field]
  if (!isSet(found)) return Result.succeed(undefined)
  return typeof found === "string"
    ? Result.mapError(readPem(found), () => `${field} is no base64 of PEM; write it again`)
    : Result.fail(`${field} must be text; write base64 of PEM`)
}

/** Whether a header can carry the token. */
const isToken = (text: string): boolean => /^[!-~]+$/u.test(text)

const credentialsOf = (user: JsonObject): Result.Result<KubeconfigCredentials, string> =>
  Result.gen(function* () {
    yield* refusal(user, refusedOfUser)
    const text = asString(user["token"])?.trim() ?? ""
    const certificatePem = yield* pemField(user, "client-certificate-data")
    const keyPem = yield* pemField(user, "client-key-data")
    // As kubectl does, which sends both, and API servers look at the certificate first.
    if (certificatePem !== undefined && keyPem !== undefined)
      return { _tag: "ClientCertificate", certificatePem, keyPem: Redacted.make(keyPem) } as const
    if (certificatePem !== undefined || keyPem !== undefined) {
      const [has, lacks] = ["client-certificate-data", "client-key-data"].toSorted((one) => (isSet(user[one]) ? -1 : 1))
      return yield* Result.fail(`its user has ${has} without ${lacks}; write both`)
    }
    if (text === "")
      return yield* Result.fail("its user has no token and no client-certificate-data; write one of the two")
    if (!isToken(text))
      return yield* Result.fail("its token has a character that no token has, such as a line break; write it again")
    return { _tag: "BearerToken", token: Redacted.make(text) } as const
  })

const cure = "write the output of `kubectl config view --raw --minify`"

const valueOf = (document: ConfigurationDocument): Result.Result<JsonObject, string> => {
  if (document._tag === "Parsed") {
    const config = asObject(document.value)
    return config["clusters"] === undefined
      ? Result.fail(`it is no kubeconfig: it has no clusters; ${cure}`)
      : Result.succeed(config)
  }
  if (document._tag === "Absent") return Result.fail(`it is empty; ${cure}`)
  const what = document._tag === "NotYaml" ? "is no YAML" : "cannot be read"
  return Result.fail(`it ${what}: ${document.reason}; ${cure}`)
}

/** The address and the CA of a `cluster` as kubeconfigs and ClusterProfiles have it; the failure is a clause. */
export const readClusterFields = (cluster: JsonObject): Result.Result<Omit<KubeconfigCluster, "credentials">, string> =>
  Result.gen(function* () {
    yield* refusal(cluster, refusedOfCluster)
    const server = asString(cluster["server"])?.trim() ?? ""
    if (!URL.canParse(server) || new URL(server).protocol !== "https:")
      return yield* Result.fail(`its server is ${quoted(server)}; write the API server's address, with https://`)
    return { server, certificateAuthority: yield* pemField(cluster, "certificate-authority-data") }
  })

/** The names of all contexts. The failure is a clause. */
export const contextsOf = (document: ConfigurationDocument): Result.Result<ReadonlyArray<string>, string> =>
  Result.map(valueOf(document), (config) => asObjects(config["contexts"]).flatMap(({ name }) => asString(name) ?? []))

/**
 * Reads a context, or the current one. The failure is a clause that names the field, without any credential.
 */
export const readKubeconfig = (
  document: ConfigurationDocument,
  contextName?: string
): Result.Result<KubeconfigCluster, string> =>
  Result.gen(function* () {
    const config = yield* valueOf(document)
    const context = yield* named(config, "context", contextName ?? asString(config["current-context"]) ?? "")
    const cluster = yield* named(config, "cluster", asString(context["cluster"]) ?? "")
    const fields = yield* readClusterFields(cluster)
    const user = yield* named(config, "user", asString(context["user"]) ?? "")
    return { ...fields, credentials: yield* credentialsOf(user) }
  })
