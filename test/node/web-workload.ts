/** The workload whose ports are stolen, `web-app.ts`, in clusters with nodes, and ways to ask each of its pods. */

import { readFileSync } from "node:fs"
import * as https from "node:https"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { workloadNamespace as namespace } from "../../lab/playground/manifests.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import type { RunningNode } from "../../lab/playground/node/node-playground.ts"
import { image } from "../../scripts/image.mjs"
import { asString, at } from "../../src/domain/json.ts"
import type { selfSigned } from "../lab/cluster/node/self-signed.ts"
import { request } from "../real/harness.ts"
import { getOverHttp2 } from "../support/over-http2.ts"
import { kubectl } from "./nodes.ts"

/** Without its name it would be the other container, which is the first of its pod by name. */
export const webTarget = "deployment/web/container/web"

type Certificate = Awaited<ReturnType<typeof selfSigned>>

const manifests = ({ cert, key }: Certificate, replicas: number): ReadonlyArray<object> => {
  const metadata = { name: "web", namespace }
  const labels = { app: "web" }
  const container = { image: nodeImages.demo }
  const containers = [
    {
      ...container,
      name: "web",
      command: [image.node, "/app/web-app.ts"],
      // A readiness probe would go on: at the wrong moment it stops an agent for ever, docs/protocol/agent.md §6.10.
      startupProbe: { tcpSocket: { port: 443 }, periodSeconds: 1 },
      volumeMounts: [
        { name: "app", mountPath: "/app" },
        { name: "tls", mountPath: "/tls" }
      ]
    },
    { ...container, name: "beside", command: [image.node, "--eval", "require('net').createServer().listen(81)"] }
  ]
  const volumes = [
    { name: "app", configMap: { name: "web" } },
    { name: "tls", secret: { secretName: "web" } }
  ]
  const program = readFileSync(new URL("web-app.ts", import.meta.url), "utf8")
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "web-app.ts": program } },
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { "cert.pem": cert, "key.pem": key } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers, volumes } }
      }
    }
  ]
}

/** Lets the agents of the workload serve TLS on its port 443 with the workload's own certificate. */
export const tlsStealConfig = {
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordTlsStealConfig",
  metadata: { name: "web", namespace },
  spec: {
    targetPath: "deploy/web",
    ports: [
      {
        port: 443,
        agentAsServer: {
          authentication: { certPem: "/tls/cert.pem", keyPem: "/tls/key.pem" },
          alpnProtocols: ["h2", "http/1.1"]
        },
        agentAsClient: { verification: { acceptAnyCert: true } }
      }
    ]
  }
}

export interface WebPod {
  readonly node: RunningNode
  readonly name: string
  /** A port of this machine for each port of the pod. */
  readonly entries: Readonly<Record<WebPort, number>>
}
const webPorts = [80, 8080, 443] as const
export type WebPort = (typeof webPorts)[number]

/** Starts the workload in a cluster, and returns its pods. */
export const startWeb = async (
  node: RunningNode,
  certificate: Certificate,
  replicas: number
): Promise<ReadonlyArray<WebPod>> => {
  const { plane, store, world } = node.cluster
  await plane.apply(
    manifests(certificate, replicas)
      .map((object) => JSON.stringify(object))
      .join("\n---\n")
  )
  await kubectl(node.cluster, "rollout", "status", "deployment/web", "--timeout=300s")
  const running = store.list(pods, { namespace, labelSelector: "app=web" }).items
  return Promise.all(
    running.map(async (pod) => {
      const host = asString(at(pod, "status", "podIP")) ?? ""
      const entry = (port: WebPort): Promise<number> => world.forward({ host, port })
      const entries = { 80: await entry(80), 8080: await entry(8080), 443: await entry(443) }
      return { node, name: pod.metadata.name ?? "", entries }
    })
  )
}

type Headers = Readonly<Record<string, string>>

/** A request of its own to a pod. */
interface Asked {
  readonly path: string
  readonly headers?: Headers
  /** The certificate that the other side must have, where there is TLS. */
  readonly ca: string
  readonly signal?: AbortSignal
}

/** A way to ask a pod; the answer is the body. */
export interface Way {
  readonly over: string
  readonly port: WebPort
  /** The version of HTTP. */
  readonly version: "1.1" | "2.0"
  readonly ask: (pod: WebPod, asked: Asked) => Promise<string>
}

// The certificate names no address.
const anyAddress = { servername: "probe", checkServerIdentity: (): undefined => undefined }

const overTls = ({ entries }: WebPod, { path, ...given }: Asked): Promise<string> =>
  new Promise((resolve, reject) => {
    const where = { host: "127.0.0.1", port: entries[443], agent: false, path, ...anyAddress }
    const outgoing = https.get({ ...where, ...given }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text
      })
      response.once("end", () => resolve(body)).once("error", reject)
    })
    outgoing.once("error", reject)
  })

export const ways: ReadonlyArray<Way> = [
  {
    over: "HTTP/1.1",
    port: 80,
    version: "1.1",
    ask: ({ entries }, { headers, path, signal }) => request(`http://127.0.0.1:${entries[80]}`, path, headers, signal)
  },
  {
    over: "HTTP/2",
    port: 8080,
    version: "2.0",
    ask: ({ entries }, { headers, path, signal }) =>
      getOverHttp2(`http://127.0.0.1:${entries[8080]}`, path, headers, { signal })
  },
  { over: "HTTP/1.1 in TLS", port: 443, version: "1.1", ask: overTls },
  {
    over: "HTTP/2 in TLS",
    port: 443,
    version: "2.0",
    ask: ({ entries }, { ca, headers, path, signal }) =>
      getOverHttp2(`https://127.0.0.1:${entries[443]}`, path, headers, { ...anyAddress, ca, signal })
  }
]
