/**
 * Reads the list of clusters. A mistake that concerns one cluster alone becomes that cluster's problem.
 *
 * Not here: comparing names and defaults (parse-configuration.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { quoted } from "../clean-text.ts"
import { isObject, type JsonObject } from "../json.ts"
import { clusterName, clusterNameProblem, type ClusterName } from "./cluster-name.ts"
import { clusterFields } from "./configuration-fields.ts"
import type { MemberConfiguration } from "./configuration.ts"
import { isTenant } from "./credentials/aks-identity.ts"
import { authTypes, type AuthType, type ClusterAuth } from "./credentials/cluster-auth.ts"
import { readPem } from "./credentials/pem.ts"
import type { MistakeList } from "./mistakes.ts"

/** A readable entry of `clusters-config.yaml`, with the fields that only the cross-checks need. */
export interface MemberEntry {
  /** Place in the file's list. */
  readonly index: number
  readonly isDefault: boolean
  readonly member: MemberConfiguration
}

const isAuthType = Schema.is(clusterFields.authType)
const isServer = Schema.is(clusterFields.server)
const isFlag = Schema.is(clusterFields.isDefault)

/** An optional text field; another type is this cluster's own problem, not a reason to refuse the file. */
const optionalText = (value: unknown, field: string, problems: Array<string>): string | undefined => {
  if (value === undefined || value === null || value === "") return undefined
  if (typeof value === "string") return value
  problems.push(`${field} must be text; write it in quotes.`)
  return undefined
}

const certificateAuthority = (
  value: unknown,
  authType: AuthType | undefined,
  problems: Array<string>
): string | undefined => {
  const text = optionalText(value, "caData", problems)
  if (text === undefined) return undefined
  if (authType === "outbound") {
    problems.push("caData is not used by authType outbound; leave it out.")
    return undefined
  }
  const pem = readPem(text)
  if (Result.isSuccess(pem)) return pem.success
  problems.push(`caData cannot be read: ${pem.failure}; give the API server's CA in one of the two forms.`)
  return undefined
}

/** Reads what an AKS cluster may say. */
const aksAuth = (entry: Readonly<Record<string, unknown>>, problems: Array<string>): ClusterAuth => {
  const tenantId = optionalText(entry["tenantId"], "tenantId", problems)
  const clientId = optionalText(entry["clientId"], "clientId", problems)
  if (tenantId !== undefined && !isTenant(tenantId))
    problems.push(`tenantId is ${quoted(tenantId)}, which is no Azure tenant; write its id or its domain.`)
  if (clientId !== undefined && !/^[0-9A-Fa-f-]{36}$/u.test(clientId))
    problems.push(`clientId is ${quoted(clientId)}, which is no id of an Azure client; write a UUID.`)
  return { _tag: "Aks", tenantId, clientId }
}

/** Reads what an EKS cluster needs: AWS signs for its name and its region. */
const eksAuth = (entry: Readonly<Record<string, unknown>>, problems: Array<string>): ClusterAuth => {
  const { name } = entry
  const region = optionalText(entry["region"], "region", problems)
  if (region === undefined) problems.push("authType eks needs region; name the AWS region of the EKS cluster.")
  else if (!/^[a-z0-9-]+$/u.test(region))
    problems.push(`region is ${quoted(region)}, which is no AWS region; write one such as eu-central-1.`)
  if (typeof name === "string" && !/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/u.test(name))
    problems.push(
      `authType eks needs the name of the EKS cluster as the cluster's name; no EKS cluster can be called ` +
        `${quoted(name)}.`
    )
  return { _tag: "Eks", region }
}

const authOf = (type: AuthType, entry: Readonly<Record<string, unknown>>, problems: Array<string>): ClusterAuth => {
  switch (type) {
    case "bearerToken":
      return { _tag: "BearerToken" }
    case "mtls":
      return { _tag: "Mtls" }
    case "aks":
      return aksAuth(entry, problems)
    case "eks":
      return eksAuth(entry, problems)
    case "outbound":
      return { _tag: "Outbound" }
  }
}

const checkUrl = (server: string | undefined, problems: Array<string>): void => {
  if (server !== undefined && server !== "" && !(URL.canParse(server) && /^https?:$/u.test(new URL(server).protocol))) {
    problems.push(
      `server is ${JSON.stringify(server)}, which is no URL; write for example https://api.example.com:6443.`
    )
  }
}

/** An entry while it is read. `at`: its place, such as `clusters[2]`. */
interface EntryFields {
  readonly at: string
  readonly fields: JsonObject
  readonly mistakes: MistakeList
}

const nameField = ({ at, fields, mistakes }: EntryFields): ClusterName | undefined => {
  const { name } = fields
  const problem = typeof name === "string" ? clusterNameProblem(name) : "an entry needs a name, as text"
  if (typeof name === "string" && problem === undefined) return clusterName(name)
  mistakes.add(`${at}.name`, name, problem ?? "", "write the name by which you know the cluster")
  return undefined
}

const authTypeField = ({ at, fields, mistakes }: EntryFields): AuthType | undefined => {
  const { authType } = fields
  if (isAuthType(authType)) return authType
  const missing = authType === undefined || authType === null || authType === ""
  mistakes.add(
    `${at}.authType`,
    authType,
    missing ? `${at} does not say how to authenticate` : "this authType does not exist",
    `write one of ${authTypes.join(", ")}`
  )
  return undefined
}

const serverField = ({ at, fields, mistakes }: EntryFields, authType: AuthType | undefined): string | undefined => {
  const { server } = fields
  if (authType === "outbound") {
    const isThere = server !== undefined && server !== null && server !== ""
    if (isThere) mistakes.add(`${at}.server`, server, "a cluster that dials out is not dialled", "leave server out")
    return undefined
  }
  if (isServer(server)) return server.trim()
  mistakes.add(
    `${at}.server`,
    server,
    `${at} has no server`,
    "write the URL of its API server, for example https://api.example.com:6443"
  )
  return ""
}

const isDefaultField = ({ at, fields, mistakes }: EntryFields): boolean => {
  const { isDefault } = fields
  if (isDefault !== undefined && isDefault !== null && !isFlag(isDefault)) {
    mistakes.add(`${at}.isDefault`, isDefault, "isDefault must be true or false", "write true, or leave it out")
  }
  return isDefault === true || isDefault === "true"
}

const parseEntry = (value: unknown, index: number, mistakes: MistakeList): MemberEntry | undefined => {
  const at = `clusters[${index}]`
  if (!isObject(value)) {
    mistakes.add(at, value, "an entry must be a map", "write at least name, server and authType")
    return undefined
  }
  const entry: EntryFields = { at, fields: value, mistakes }
  const name = nameField(entry)
  const authType = authTypeField(entry)
  const server = serverField(entry, authType)
  const isDefault = isDefaultField(entry)
  if (name === undefined) return undefined

  const problems: Array<string> = []
  checkUrl(server, problems)
  return {
    index,
    isDefault,
    member: {
      name,
      server,
      namespace: optionalText(value["namespace"], "namespace", problems),
      certificateAuthority: certificateAuthority(value["caData"], authType, problems),
      auth: authOf(authType ?? "bearerToken", value, problems),
      problems
    }
  }
}

/** The list of clusters; `complete` is false when an entry had no usable name. */
export interface MemberEntries {
  readonly entries: ReadonlyArray<MemberEntry>
  readonly complete: boolean
}

/**
 * Reads `clusters-config.yaml`. Every entry with a usable name comes back, even with mistakes in it, so that names and
 * defaults can be compared.
 */
export const parseMembers = (value: unknown, mistakes: MistakeList): MemberEntries => {
  if (value === undefined || value === null) return { entries: [], complete: true }
  const list = isObject(value) ? value["clusters"] : value
  if (isObject(value) && (list === undefined || list === null)) return { entries: [], complete: true }
  if (!isObject(value) || !Array.isArray(list)) {
    mistakes.add(
      isObject(value) ? "clusters" : "",
      list,
      "the file must hold a list named clusters",
      "write clusters: and one entry per cluster"
    )
    return { entries: [], complete: false }
  }
  const entries = list.map((entry: unknown, index) => parseEntry(entry, index, mistakes))
  return {
    entries: entries.filter((entry) => entry !== undefined),
    complete: entries.every((entry) => entry !== undefined)
  }
}
