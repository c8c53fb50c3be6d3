/** The case of filters on HTTPS, which an agent can only apply with the administrators' TLS configuration. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as http2 from "node:http2"
import * as https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { stringify } from "yaml"
import { selfSigned } from "../../lab/cluster/node/self-signed.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { nothingLeft } from "../sessions.ts"
import { type HttpFilter, httpFilters } from "./http-filters.ts"
import { getOverHttp2 } from "./over-http2.ts"
import { allGivenBack, answerOf, answers, beginSession } from "./pod-sessions.ts"
import type { PodWorld, WebPod } from "./pod-world.ts"

/**
 * Steals the requests to port 443 that a filter chooses; the workload answers the others. By a header over HTTP/1.1,
 * and by each other filter over HTTP/2.
 */
export const stealsHttps = async ({ apply, pods, real, served }: PodWorld, mirrord: string): Promise<void> => {
  const tls = await selfSigned()
  const versions: Array<string> = []
  const server = http2.createSecureServer({ ...tls, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion)
    response.end(`local ${request.url}`)
  })
  onTestFinished(() => void server.close())
  const port = await listenLocally(server)
  // Both the agent and the pod's process see the files of this machine.
  const folder = mkdtempSync(join(tmpdir(), "tls-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [certPem, keyPem] = [join(folder, "cert.pem"), join(folder, "key.pem")]
  writeFileSync(certPem, tls.cert)
  writeFileSync(keyPem, tls.key)
  const config = {
    apiVersion: "mirrord.metalbear.co/v1alpha",
    kind: "MirrordTlsStealConfig",
    metadata: { name: "web", namespace: "default" },
    spec: {
      targetPath: "deploy/web",
      ports: [
        {
          port: 443,
          agentAsServer: { authentication: { certPem, keyPem }, alpnProtocols: ["h2", "http/1.1"] },
          agentAsClient: { verification: { acceptAnyCert: true } }
        }
      ]
    }
  }
  // An agent keeps its settings for life, and the sessions before this one still have it.
  await nothingLeft(real)
  for (const cluster of new Set(pods().map(({ cluster }) => cluster))) await apply(cluster, stringify(config))
  const ways = [
    { ...byHeader, version: "1.1", ask: overTls },
    ...httpFilters.map((filter) => ({ ...filter, version: "2.0", ask: overTlsAndHttp2 }))
  ]
  for (const { ask, http_filter, left, stolen, version } of ways) {
    versions.length = 0
    const incoming = { mode: "steal", http_filter: { ...http_filter, ports: [443] } }
    const forward = await beginSession(real, mirrord, ["port-forward", "-R", `443:${port}`], incoming)
    onTestFinished(() => forward.stop())
    for (const pod of pods()) {
      const before = (await served(pod)).length
      for (const [path, headers] of stolen)
        await answers(pod, `local ${path}`, (signal) => ask(pod, { ca: tls.cert, path, headers }, signal))
      for (const [path, headers] of left)
        await answers(pod, answerOf(pod, path), (signal) => ask(pod, { ca: tls.cert, path, headers }, signal))
      expect((await served(pod)).slice(before)).toEqual(expect.arrayContaining(left.map(([path]) => `GET ${path}`)))
    }
    // The agent speaks HTTP/2 to the client where the request came so, and the client to the local process.
    expect(new Set(versions)).toEqual(new Set([version]))
    forward.stop()
    await allGivenBack(pods())
  }
}

const byHeader: HttpFilter = {
  what: "by header",
  http_filter: { header_filter: "^x-user: ann$" },
  stolen: [["/0", { "x-user": "ann" }]],
  left: [["/0", { "x-user": "bob" }]]
}

/** A `GET` over TLS; the other side must have the certificate `ca`. */
interface TlsRequest {
  readonly ca: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

// The certificate names no address.
const anyAddress = { servername: "probe", checkServerIdentity: (): undefined => undefined }

const overTlsAndHttp2 = (
  pod: WebPod,
  { ca, headers = {}, path = "/" }: TlsRequest,
  signal: AbortSignal
): Promise<string> => getOverHttp2(`https://${pod.ip}:443`, path, headers, { ...anyAddress, ca, signal })

export const overTls = (pod: WebPod, given: TlsRequest, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const where = { host: pod.ip, port: 443, agent: false, ...anyAddress }
    const outgoing = https.get({ ...where, ...given, signal }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text
      })
      response.once("end", () => resolve(body)).once("error", reject)
    })
    outgoing.once("error", reject)
  })
