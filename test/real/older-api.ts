/**
 * An API server as a client finds it whose operator knows no kind of branches but the older ones: the operator's object
 * lacks the feature of BranchDatabase, and everything else passes. Clients take the older kinds then.
 */

import { readFileSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import type { Duplex } from "node:stream"
import { parse, stringify } from "yaml"
import { listenLocally } from "../support/listen-locally.ts"
import { type Kubeconfig, tlsOf } from "./api-client.ts"

const operatorPath = "/apis/operator.metalbear.co/v1/mirrordoperators/operator"
const feature = "UnifiedBranchDbCrd"

export interface OlderApi {
  /** Kubeconfig of the same user at this address. */
  readonly kubeconfig: string
  readonly close: () => void
}

const withoutFeature = (body: string): string => {
  const object = JSON.parse(body) as { readonly spec?: { readonly supported_features?: ReadonlyArray<string> } }
  const features = object.spec?.supported_features ?? []
  if (!features.includes(feature)) throw new Error(`the operator does not advertise ${feature}`)
  const supported_features = features.filter((name) => name !== feature)
  return JSON.stringify({ ...object, spec: { ...object.spec, supported_features } })
}

/** `path`: where the new kubeconfig is written. */
export const startOlderApi = async (kubeconfig: string, path: string): Promise<OlderApi> => {
  const config = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig
  const { server, tls } = tlsOf(config)
  const agent = new https.Agent({ ...tls, keepAlive: true })
  const sockets = new Set<Duplex>()
  const asked = (incoming: http.IncomingMessage, options: https.RequestOptions = {}): http.ClientRequest => {
    const { host: _, ...headers } = incoming.headers
    return https.request(new URL(incoming.url ?? "/", server), { method: incoming.method, headers, agent, ...options })
  }
  const relay = http.createServer((incoming, outgoing) => {
    const request = asked(incoming)
    request.on("error", () => outgoing.destroy())
    outgoing.on("close", () => request.destroy())
    request.on("response", (answer) => {
      const status = answer.statusCode ?? 500
      if (new URL(incoming.url ?? "/", server).pathname !== operatorPath || status !== 200) {
        outgoing.writeHead(status, answer.headers)
        return void answer.pipe(outgoing)
      }
      let body = ""
      answer.setEncoding("utf8").on("data", (part: string) => (body += part))
      answer.on("end", () => {
        outgoing.writeHead(status, { "content-type": "application/json" })
        outgoing.end(withoutFeature(body))
      })
    })
    incoming.pipe(request)
  })
  relay.on("connection", (socket) => void sockets.add(socket))
  relay.on("upgrade", (incoming, client: Duplex) => {
    const request = asked(incoming, { ...tls, agent: false })
    const head = (answer: http.IncomingMessage): string => {
      const lines = answer.rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("")
      return `HTTP/1.1 ${answer.statusCode ?? 500} ${answer.statusMessage ?? ""}\r\n${lines}\r\n`
    }
    request.on("error", () => client.destroy())
    request.on("response", (answer) => {
      client.write(head(answer))
      answer.pipe(client)
    })
    request.on("upgrade", (answer, upstream, first) => {
      sockets.add(upstream)
      client.write(head(answer))
      client.write(first)
      client.pipe(upstream).pipe(client)
      for (const [one, other] of [
        [client, upstream],
        [upstream, client]
      ] as const)
        one.on("error", () => other.destroy()).on("close", () => other.destroy())
    })
    request.end()
  })
  const port = await listenLocally(relay)
  const [cluster] = config.clusters
  writeFileSync(
    path,
    stringify({
      ...config,
      clusters: [{ ...cluster, cluster: { server: `http://127.0.0.1:${port}` } }],
      users: config.users.map((user) => ({ ...user, user: {} }))
    })
  )
  return {
    kubeconfig: path,
    close: () => {
      relay.close()
      for (const socket of sockets) socket.destroy()
      agent.destroy()
    }
  }
}
