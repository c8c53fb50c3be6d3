/**
 * One request to an admission webhook: where it goes, how it is made, and what is wrong with its answer, in a real
 * server's words (k8s.io/apiserver `pkg/admission/plugin/webhook`). Which webhooks are asked, and what an answer means,
 * is in `mutating-admission.ts`.
 */

import type { IncomingMessage } from "node:http"
import { type RequestOptions, request as httpsRequest } from "node:https"
import { asNumber, asObject, asString, isObject, type JsonObject } from "../../../src/domain/json.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { readBody } from "../wire/http-io.ts"
import { maxHeaderSize, reasonOf } from "./aggregation-proxy.ts"
import { resolveBackend } from "./aggregation.ts"

/** The webhook was not reached, or its answer is none. `failurePolicy` decides about the object. */
export class CallFailure extends Error {}

interface Target {
  /** `https://host[:port]/path`, as it is written in failures. */
  readonly url: string
  /** Where to connect; a text is why that is unknown. */
  readonly address: { readonly host: string; readonly port: number; readonly authority: string } | string
}

/** The reason that a Service has no address, as a real server's resolver of Services gives it. */
const unresolved = (reason: string, name: string, port: number): string => {
  if (reason === "ServiceNotFound") return `service ${JSON.stringify(name)} not found`
  return reason === "ServicePortError"
    ? `no service port ${port} found for service ${JSON.stringify(name)}`
    : `no endpoints available for service ${JSON.stringify(name)}`
}

const withPath = (url: string): string => (/^https:\/\/[^/]+$/u.test(url) ? `${url}/` : url)

const targetOf = (store: ObjectStore, client: JsonObject, random: number): Target => {
  if (!isObject(client["service"])) {
    const url = withPath(asString(client["url"]) ?? "")
    const { hostname, port } = new URL(url)
    const host = hostname.replace(/^\[|\]$/gu, "")
    return { url, address: { host, port: Number(port || 443), authority: `${hostname}:${port || 443}` } }
  }
  const [name, namespace, path] = ["name", "namespace", "path"].map((key) => asString(asObject(client["service"])[key]))
  const service = { name: name ?? "", namespace: namespace ?? "", port: asNumber(client["service"]["port"]) ?? 443 }
  const backend = resolveBackend(store, { service }, random)
  const url = withPath(`https://${service.name}.${service.namespace}.svc:${service.port}${path ?? ""}`)
  return backend._tag === "Address"
    ? { url, address: backend }
    : { url, address: unresolved(backend.reason, service.name, service.port) }
}

/** The words of a client of Kubernetes for an answer that is no success. */
const refusal = (status: number, body: string): string => {
  if (status === 404) return "the server could not find the requested resource"
  return status >= 500
    ? `an error on the server (${JSON.stringify(body)}) has prevented the request from succeeding`
    : `the server responded with the status code ${status} but did not return more information`
}

const send = (options: RequestOptions, body: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    httpsRequest(options).on("response", resolve).on("error", reject).end(body)
  })

const post = async (target: Target, caBundle: string | undefined, seconds: number, body: string): Promise<string> => {
  const failed = (why: string) =>
    new CallFailure(`failed to call webhook: Post "${target.url}?timeout=${seconds}s": ${why}`)
  if (typeof target.address === "string") throw failed(target.address)
  const { authority, host, port } = target.address
  const { host: hostHeader, pathname } = new URL(target.url)
  const signal = AbortSignal.timeout(seconds * 1000)
  try {
    const options = {
      method: "POST",
      host,
      port,
      path: `${pathname}?timeout=${seconds}s`,
      // The name that the certificate must have is that of the header, not `host`.
      headers: { Host: hostHeader, "Content-Type": "application/json", "User-Agent": "kube-apiserver-admission" },
      agent: false,
      maxHeaderSize,
      signal,
      // A bundle may hold the server's own certificate without its authority, as Go takes it.
      ...(caBundle === undefined ? {} : { ca: Buffer.from(caBundle, "base64"), allowPartialTrustChain: true })
    }
    const answer = await send(options, body)
    const text = (await readBody(answer)).toString("utf8")
    const status = answer.statusCode ?? 0
    if (status >= 200 && status <= 206) return text
    throw new CallFailure(`failed to call webhook: ${refusal(status, text)}`)
  } catch (cause) {
    if (cause instanceof CallFailure) throw cause
    if (signal.aborted) throw failed("context deadline exceeded")
    throw failed(cause instanceof Error ? reasonOf(cause, authority) : String(cause))
  }
}

const parse = (text: string): JsonObject => {
  try {
    return asObject(JSON.parse(text.trim() === "" ? "{}" : text))
  } catch (cause) {
    throw new CallFailure(`failed to call webhook: couldn't get version/kind; json parse error: ${String(cause)}`)
  }
}

const problemOf = (review: JsonObject, uid: string): string | undefined => {
  const { apiVersion = "/", kind = "", response } = review
  if (!isObject(response)) return "webhook response was absent"
  if (response["uid"] !== uid) return `expected response.uid="${uid}", got "${asString(response["uid"]) ?? ""}"`
  if (apiVersion !== "admission.k8s.io/v1" || kind !== "AdmissionReview")
    return (
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, " +
      `got ${String(apiVersion)}, Kind=${String(kind)}`
    )
  const [patch, patchType] = [asString(response["patch"]) ?? "", response["patchType"]]
  if (patch !== "" && patchType === undefined) return "webhook returned response.patch but not response.patchType"
  if (patch === "" && patchType !== undefined) return "webhook returned response.patchType but not response.patch"
  return undefined
}

/**
 * Sends an `AdmissionReview`'s request with this `uid` and gives the `response`. Fails with {@link CallFailure}.
 * `random` in [0, 1) picks among the endpoints of a Service.
 */
export const callWebhook = async (
  store: ObjectStore,
  webhook: JsonObject,
  request: JsonObject & { readonly uid: string },
  random: number
): Promise<JsonObject> => {
  const client = asObject(webhook["clientConfig"])
  const seconds = asNumber(webhook["timeoutSeconds"]) ?? 10
  const body = JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", request })
  const review = parse(await post(targetOf(store, client, random), asString(client["caBundle"]), seconds, body))
  const problem = problemOf(review, request.uid)
  if (problem !== undefined) throw new CallFailure(`received invalid webhook response: ${problem}`)
  return asObject(review["response"])
}
