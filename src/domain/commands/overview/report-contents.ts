/**
 * The contents of a report that people send to each other (`braid report`): which collections of a cluster it has, and
 * what of them. Secrets are never read; what others have written where a secret may stand is left out.
 *
 * Not here: reading and writing (app/commands/report).
 */

import { RE2JS } from "re2js"
import { asObject, asObjects, asString, at, isObject, type JsonObject, omit } from "../../json.ts"
import { branchDatabases } from "../../resources/branches/branch-database.ts"
import { configMaps, leases, pods } from "../../resources/core-kinds.ts"
import type { StoredObject } from "../../resources/kept-fields.ts"
import { mirrordClusterSessions } from "../../resources/mirrord-cluster-session.ts"
import { mirrordClusters } from "../../resources/mirrord-cluster.ts"
import { mirrordMultiClusterSessions } from "../../resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../resources/mirrord-operator.ts"
import { mirrordClusterPolicies, mirrordPolicies } from "../../resources/policies/mirrord-policies.ts"
import type { ResourceDescriptor } from "../../resources/resource-descriptor.ts"

interface Collection {
  readonly resource: Omit<ResourceDescriptor<unknown>, "schema" | "keeps">
  /** Where it is listed: in the operator's namespace alone, or everywhere. */
  readonly within: "operator" | "all"
  /** The part of an object that the report has; `undefined` if the object is none of ours. */
  readonly part: (object: StoredObject, operatorNamespace: string) => JsonObject | undefined
}

const hidden = "(left out)"

/** Whether a variable holds only a setting of ours. A URL may have a token in it, whatever its name is. */
const isSetting = (name: string, value: unknown): boolean =>
  /^(OPERATOR|MIRRORD)_/u.test(name) &&
  !/EXTRA_ENV|HEADERS|TOKEN|PASSWORD|SECRET|URL/u.test(name) &&
  !String(value).includes("://")

const variable = (found: JsonObject): JsonObject => {
  const { name, value } = found
  return value === undefined || isSetting(asString(name) ?? "", value) ? found : { ...found, value: hidden }
}

/** An object without what only servers read, and without values of variables that are no settings of ours. */
const whole = ({ metadata, ...object }: StoredObject): JsonObject => {
  const annotations = omit(metadata.annotations ?? {}, "kubectl.kubernetes.io/last-applied-configuration")
  const kept = { metadata: { ...omit(metadata, "managedFields"), annotations }, ...omit(object, "data", "binaryData") }
  const text = JSON.stringify(kept, (name, value: unknown) =>
    name === "env" && Array.isArray(value) ? asObjects(value).map(variable) : value
  )
  return JSON.parse(text) as JsonObject
}

/** The values of variables in a configuration file, such as those that migrations get. */
const variablesInFiles = RE2JS.compile(String.raw`(\bvalue["']?\s*:\s*)[^\n,}]+`)

/** The operator's own configuration; other ConfigMaps of its namespace by name alone. */
const configMap = (object: StoredObject): JsonObject => {
  if (!object.metadata.name.startsWith("mirrord-")) return whole(object)
  const files = Object.entries(asObject(object["data"])).map(([file, text]) => [
    file,
    variablesInFiles.matcher(String(text)).replaceAll(`$1${hidden}`)
  ])
  return { ...whole(object), data: Object.fromEntries(files) }
}

/** Connections and filters of a branch are its user's: the report has what became of it. */
const branch = (object: StoredObject): JsonObject => {
  const { id, target, ttlSecs, version } = isObject(object["spec"]) ? object["spec"] : {}
  return { ...whole({ ...object, spec: { id, target, ttlSecs, version } }) }
}

const isOurs = (text: unknown): boolean => asString(text)?.includes("mirrord") ?? false

const event = (object: StoredObject, operatorNamespace: string): JsonObject | undefined => {
  const about = at(object, "involvedObject")
  const ours = isOurs(at(object, "source", "component")) || isOurs(at(about, "apiVersion"))
  return ours || object.metadata.namespace === operatorNamespace ? whole(object) : undefined
}

const other = (group: string, version: string, kind: string, plural: string): Collection["resource"] => ({
  group,
  version,
  kind,
  plural,
  scope: "Namespaced"
})

export const collections: ReadonlyArray<Collection> = [
  { resource: mirrordOperators, within: "all", part: whole },
  { resource: mirrordClusters, within: "all", part: whole },
  { resource: mirrordMultiClusterSessions, within: "all", part: whole },
  { resource: mirrordClusterSessions, within: "all", part: whole },
  { resource: branchDatabases, within: "all", part: branch },
  { resource: mirrordPolicies, within: "all", part: whole },
  { resource: mirrordClusterPolicies, within: "all", part: whole },
  { resource: other("", "v1", "Event", "events"), within: "all", part: event },
  { resource: leases, within: "operator", part: whole },
  { resource: configMaps, within: "operator", part: configMap },
  { resource: other("apps", "v1", "Deployment", "deployments"), within: "operator", part: whole },
  { resource: pods, within: "operator", part: whole },
  { resource: other("batch", "v1", "Job", "jobs"), within: "operator", part: whole }
]

/** Forms of secrets, and the text instead of each. They are read in linear time, since logs may hold anything. */
const secretForms = (
  [
    ["(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", hidden],
    [String.raw`\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*`, hidden],
    [String.raw`\bk8s-aws-v1\.[\w-]+`, hidden],
    [String.raw`(?i)(\bBearer\s+)[\w.~+/=-]+`, `$1${hidden}`],
    // The user's name goes as well: it may be a token.
    [String.raw`(://)[^/\s"'@]+@`, `$1${hidden}@`],
    // Webhooks of chats and collectors have their token in the path.
    [
      String.raw`(?i)((?:url|uri|hook|endpoint)[\w-]*["']?\s*[:=]\s*["']?[a-z][\w+.-]*://[^/\s"']+/)[^\s"',}\]]+`,
      `$1${hidden}`
    ],
    [String.raw`(?i)(://[^/\s"']*hook[^/\s"']*/)[^\s"']+`, `$1${hidden}`],
    [String.raw`(?i)(://[^\s"'?]*/[^/\s"'?]*hook[^/\s"'?]*/)[^\s"']+`, `$1${hidden}`],
    [String.raw`(?i)(://[^/\s"']+/bot)\d+:[\w-]+`, `$1${hidden}`],
    [String.raw`(?i)([?&][\w.-]*(?:sig|signature|key|code|auth)=)[^&\s"']+`, `$1${hidden}`],
    [String.raw`(?i)((?:passwd|password|secret|token|api[-_]?key)["']?\s*[:=]\s*["']?)[^\s"',;&]+`, `$1${hidden}`]
  ] as const
).map(([form, instead]) => ({ form: RE2JS.compile(form), instead }))

/**
 * A text of the report without what looks like a secret: private keys, tokens, passwords in URLs and assignments, paths
 * of webhooks.
 */
export const withoutSecrets = (text: string): string =>
  secretForms.reduce((kept, { form, instead }) => form.matcher(kept).replaceAll(instead), text)
