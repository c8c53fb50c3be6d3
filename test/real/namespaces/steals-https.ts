/** The case of a header filter on HTTPS, which an agent can only apply with the administrators' TLS configuration. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { stringify } from "yaml"
import { selfSigned } from "../../lab/cluster/node/self-signed.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { nothingLeft } from "../sessions.ts"
import { allGivenBack, answerOf, answers, beginSession } from "./pod-sessions.ts"
import type { PodWorld, WebPod } from "./pod-world.ts"

/** Steals the requests to port 443 that a header chooses; the workload answers the others. */
export const stealsHttps = async ({ apply, pods, real, served }: PodWorld, mirrord: string): Promise<void> => {
  const tls = await selfSigned()
  const server = https.createServer(tls, (request, response) => response.end(`local ${request.url ?? ""}`))
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
          agentAsServer: { authentication: { certPem, keyPem }, alpnProtocols: ["http/1.1"] },
          agentAsClient: { verification: { acceptAnyCert: true } }
        }
      ]
    }
  }
  // An agent keeps its settings for life, and the sessions before this one still have it.
  await nothingLeft(real)
  for (const cluster of new Set(pods().map(({ cluster }) => cluster))) await apply(cluster, stringify(config))
  const incoming = { mode: "steal", http_filter: { header_filter: "^x-user: ann$", ports: [443] } }
  const forward = await beginSession(real, mirrord, ["port-forward", "-R", `443:${port}`], incoming)
  onTestFinished(() => forward.stop())
  for (const pod of pods()) {
    const [match, other] = [`/match-${pod.name}`, `/other-${pod.name}`]
    const ask = (path: string, user: string) => (signal: AbortSignal) =>
      overTls(pod, { ca: tls.cert, path, headers: { "x-user": user } }, signal)
    await answers(pod, `local ${match}`, ask(match, "ann"))
    await answers(pod, answerOf(pod, other), ask(other, "bob"))
    const seen = await served(pod)
    expect(seen).toContain(`GET ${other}`)
    expect(seen).not.toContain(`GET ${match}`)
  }
  forward.stop()
  await allGivenBack(pods())
}

/** The body of the answer to a `GET`, if the other side has the certificate `ca`. */
export const overTls = (
  pod: WebPod,
  given: { readonly ca: string } & Pick<https.RequestOptions, "headers" | "path">,
  signal: AbortSignal
): Promise<string> =>
  new Promise((resolve, reject) => {
    // The certificate names no address.
    const checkServerIdentity = (): undefined => undefined
    const where = { host: pod.ip, port: 443, agent: false, servername: "probe" }
    const outgoing = https.get({ ...where, ...given, checkServerIdentity, signal }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text
      })
      response.once("end", () => resolve(body)).once("error", reject)
    })
    outgoing.once("error", reject)
  })
