/**
 * The mutating webhooks of a cluster: which of them an object's creation meets, in which order, and the object that
 * they leave (k8s.io/apiserver `pkg/admission/plugin/webhook/mutating`). Creations only. Match conditions are not
 * asked, and `matchPolicy` has no effect: rules see the version of the request. One request to a webhook is
 * `webhook-call.ts`'s part.
 */

import {
  asNumber,
  asObject,
  asObjects,
  asString,
  asStrings,
  type JsonObject,
  jsonEqual
} from "../../../src/domain/json.ts"
import { applyBuiltInDefaults } from "../schema/built-in-defaults.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { hasStatus, type ResourceInfo, storageKey } from "../schema/resource-info.ts"
import { randomUid } from "../store/generated-names.ts"
import type { ObjectStore } from "../store/object-store.ts"
import * as refs from "../store/resource-refs.ts"
import { selectsObject } from "../store/selectors.ts"
import { ApiError, badRequest, internalError } from "../wire/status-error.ts"
import type { Identity } from "./identity.ts"
import { applyJsonPatch } from "./patches.ts"
import { readObjectAs } from "./sent-object.ts"
import type { Admission, Creation } from "./server-context.ts"
import { CallFailure, callWebhook } from "./webhook-call.ts"

const isNamespace = (info: ResourceInfo): boolean => storageKey(info) === storageKey(refs.namespaces)

/** The object as a webhook gets it: with defaults, which for pods include those of the plugins before webhooks. */
const withDefaults = (info: ResourceInfo, object: KubeObject): KubeObject => {
  const draft = structuredClone(object)
  applyBuiltInDefaults(storageKey(info), draft, storageKey(info) === storageKey(refs.pods))
  info.custom?.schema.applyDefaults(draft)
  if (hasStatus(info)) draft["status"] = object["status"] ?? {}
  return draft
}

const follows = (info: ResourceInfo, rule: JsonObject): boolean => {
  const names = (field: string, ...wanted: ReadonlyArray<string>): boolean =>
    asStrings(rule[field]).some((name) => name === "*" || wanted.includes(name))
  const { scope = "*" } = rule
  return (
    names("operations", "CREATE") &&
    names("apiGroups", info.group) &&
    names("apiVersions", info.version) &&
    names("resources", info.resource, `${info.resource}/*`, "*/*") &&
    (scope === "*" || (scope === "Namespaced") === info.namespaced)
  )
}

/** The user of a request, as `authentication.k8s.io/v1 UserInfo`. */
const userInfo = ({ extra, groups, uid, user }: Identity): JsonObject => ({
  username: user,
  ...(uid === undefined ? {} : { uid }),
  groups,
  ...(Object.keys(extra).length === 0 ? {} : { extra })
})

/** A webhook's refusal, with the status that it gives for it. */
const denied = (name: string, result: JsonObject): ApiError => {
  const reason = asString(result["reason"]) ?? ""
  const why = asString(result["message"]) || reason
  const message = `admission webhook "${name}" denied the request${why === "" ? " without explanation" : `: ${why}`}`
  return new ApiError(Math.max(400, asNumber(result["code"]) ?? 0), reason, message)
}

const decodePatch = (text: string): ReadonlyArray<unknown> => {
  try {
    const patch: unknown = JSON.parse(Buffer.from(text, "base64").toString("utf8"))
    if (Array.isArray(patch)) return patch
  } catch {
    // No JSON, which is said below.
  }
  throw new CallFailure("received undecodable patch in webhook response: it is no JSON patch")
}

export class MutatingAdmission implements Admission {
  readonly #store: ObjectStore
  readonly #random: () => number

  constructor(options: { readonly store: ObjectStore; readonly random: () => number }) {
    this.#store = options.store
    this.#random = options.random
  }

  admit(creation: Creation): Promise<KubeObject> | undefined {
    if (creation.info.group === refs.mutatingWebhookConfigurations.group) return undefined
    const webhooks = this.#store
      .list(refs.mutatingWebhookConfigurations)
      .items.flatMap((configuration) => asObjects(configuration["webhooks"]))
      .filter((webhook) => asObjects(webhook["rules"]).some((rule) => follows(creation.info, rule)))
    if (webhooks.length === 0) return undefined
    const draft = withDefaults(creation.info, creation.object)
    return webhooks.some((webhook) => this.#selects(webhook, creation, draft))
      ? this.#ask(webhooks, creation, draft)
      : undefined
  }

  /** An object whose namespace is missing or going is selected by none: the store refuses it. */
  #selects(webhook: JsonObject, { info }: Creation, object: KubeObject): boolean {
    if (!selectsObject(webhook["objectSelector"], object)) return false
    const namespace = isNamespace(info) ? object : this.#store.get(refs.namespaces, undefined, namespaceOf(object))
    if (!info.namespaced && !isNamespace(info)) return true
    return (
      namespace !== undefined &&
      namespace.metadata.deletionTimestamp === undefined &&
      selectsObject(webhook["namespaceSelector"], namespace)
    )
  }

  /**
   * Asks in the order of the configurations' names, then once more those with `IfNeeded` after which another one
   * changed the object. The first patch counts as a change whatever it changes, as on a real server.
   */
  async #ask(webhooks: ReadonlyArray<JsonObject>, creation: Creation, draft: KubeObject): Promise<KubeObject> {
    let object = draft
    const asked = new Set<JsonObject>()
    const again = new Set<JsonObject>()
    for (const isFirst of [true, false]) {
      const before = object
      for (const webhook of webhooks) {
        if (!(isFirst || again.has(webhook)) || !this.#selects(webhook, creation, object)) continue
        const patched = await this.#patched(webhook, creation, object)
        const isChanged = patched !== object && (object === before || !jsonEqual(patched, object))
        object = patched
        if (isChanged) for (const earlier of asked) again.add(earlier)
        if (webhook["reinvocationPolicy"] === "IfNeeded") asked.add(webhook)
      }
    }
    if (object === draft) return creation.object
    if (namespaceOf(object) === namespaceOf(draft)) return object
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
  }

  async #patched(webhook: JsonObject, creation: Creation, object: KubeObject): Promise<KubeObject> {
    const name = asString(webhook["name"]) ?? ""
    try {
      const response = await callWebhook(this.#store, webhook, this.#request(creation, object), this.#random())
      if (response["allowed"] !== true) throw denied(name, asObject(response["status"]))
      if (response["patch"] === undefined) return object
      const patch = decodePatch(String(response["patch"]))
      if (patch.length === 0) return object
      if (response["patchType"] !== "JSONPatch")
        throw new CallFailure(`unsupported patch type ${JSON.stringify(response["patchType"])}`)
      return this.#apply(name, creation, object, patch)
    } catch (cause) {
      if (!(cause instanceof CallFailure)) throw cause
      if (webhook["failurePolicy"] === "Ignore") return object
      throw internalError(`failed calling webhook ${JSON.stringify(name)}: ${cause.message}`)
    }
  }

  #request({ identity, info, options }: Creation, object: KubeObject): JsonObject & { readonly uid: string } {
    const { group, kind, resource, version } = info
    const { name, namespace } = object.metadata
    return {
      uid: randomUid(this.#random),
      kind: { group, version, kind },
      resource: { group, version, resource },
      requestKind: { group, version, kind },
      requestResource: { group, version, resource },
      ...(name ? { name } : {}),
      ...(info.namespaced ? { namespace } : {}),
      ...(isNamespace(info) ? { namespace: name } : {}),
      operation: "CREATE",
      userInfo: userInfo(identity),
      object,
      oldObject: null,
      dryRun: options.dryRun !== undefined,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", ...options }
    }
  }

  /** Stricter than a real server: `replace` needs a field that is there. */
  #apply(name: string, { info }: Creation, object: KubeObject, patch: ReadonlyArray<unknown>): KubeObject {
    const apply = (): JsonObject => {
      try {
        return applyJsonPatch(object, patch)
      } catch {
        throw internalError(`the patch of webhook ${JSON.stringify(name)} does not apply to the object`)
      }
    }
    return withDefaults(info, readObjectAs(info, apply(), internalError).object)
  }
}

const namespaceOf = (object: KubeObject): string => object.metadata.namespace ?? ""
