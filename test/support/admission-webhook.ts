import { createServer } from "node:https"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import { asObject, type JsonObject } from "../../src/domain/json.ts"
import { listenLocally } from "./listen-locally.ts"

/** The answer of a webhook: the `response` of a review without its uid, a whole body with its status, or none ever. */
export type WebhookAnswer =
  | JsonObject
  | { readonly status: number; readonly body: string }
  | { readonly review: JsonObject }
  | "never"

/** An HTTPS server of admission webhooks at 127.0.0.1. */
export interface AdmissionWebhook {
  readonly port: number
  /** Base64, as `clientConfig.caBundle`. */
  readonly caBundle: string
  /** The paths that were asked, and what they were asked, oldest first. */
  readonly seen: Array<{ readonly path: string; readonly request: JsonObject }>
  readonly close: () => void
}

/** A response that allows the object, with these changes. */
export const patched = (...operations: ReadonlyArray<JsonObject>): JsonObject => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64")
})

/** `dnsName`: the name in its certificate, beside 127.0.0.1. `answer` is asked with the path, without the query. */
export const startAdmissionWebhook = async (
  dnsName: string,
  answer: (path: string, request: JsonObject) => WebhookAnswer
): Promise<AdmissionWebhook> => {
  const authority = await createAuthority("webhook-ca", Date.now)
  const sans = [
    { type: "dns", value: dnsName },
    { type: "ip", value: "127.0.0.1" }
  ] as const
  const { certPem, keyPem } = await authority.issue({ commonName: "webhook", sans })
  const seen: Array<{ readonly path: string; readonly request: JsonObject }> = []
  const server = createServer({ cert: certPem, key: keyPem }, async (req, res) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of req) chunks.push(Buffer.from(chunk))
    const request = asObject(asObject(JSON.parse(Buffer.concat(chunks).toString("utf8")))["request"])
    const path = (req.url ?? "").replace(/\?.*$/u, "")
    seen.push({ path, request })
    const given = answer(path, request)
    if (given === "never") return
    const review = (response: JsonObject): JsonObject => ({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: request["uid"], ...response }
    })
    if ("body" in given) return void res.writeHead(Number(given["status"])).end(given["body"])
    const body = "review" in given ? { ...review({ allowed: true }), ...asObject(given["review"]) } : review(given)
    res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body))
  })
  return {
    port: await listenLocally(server),
    caBundle: Buffer.from(authority.caPem).toString("base64"),
    seen,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
