/** Plain requests and upgrades at an API server, for tests that need exact bytes. */

import { readFileSync } from "node:fs"
import * as https from "node:https"
import WebSocket from "ws"
import { parse } from "yaml"

/** One cluster, and one user with a certificate. */
export interface Kubeconfig {
  readonly clusters: ReadonlyArray<{
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string }
  }>
  readonly users: ReadonlyArray<{
    readonly user: { readonly "client-certificate-data": string; readonly "client-key-data": string }
  }>
}

export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
}

/** Requests with the certificate of a kubeconfig, byte for byte as asked for. */
export interface ApiClient {
  readonly call: (
    method: string,
    path: string,
    body?: string,
    headers?: Readonly<Record<string, string>>
  ) => Promise<ApiAnswer>
  /** Resolves with the open socket, or with the answer that refused the upgrade. */
  readonly upgrade: (path: string, headers: Readonly<Record<string, string>>) => Promise<WebSocket | ApiAnswer>
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The address of a kubeconfig's server, and the certificates for it. */
export const tlsOf = ({ clusters, users }: Kubeconfig) => {
  const [cluster, user] = [clusters[0]?.cluster, users[0]?.user]
  if (cluster === undefined || user === undefined) throw new Error("the kubeconfig has no cluster or no user")
  const decode = (text: string): string => Buffer.from(text, "base64").toString()
  const tls = {
    ca: decode(cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"])
  }
  return { server: cluster.server, tls }
}

export const apiClient = (kubeconfigPath: string): ApiClient => {
  const { server, tls } = tlsOf(parse(readFileSync(kubeconfigPath, "utf8")) as Kubeconfig)
  return {
    call: (method, path, body, headers = {}) =>
      new Promise((resolve, reject) => {
        const request = https.request(new URL(path, server), { ...tls, method, headers, agent: false }, (answer) => {
          let text = ""
          answer.setEncoding("utf8").on("data", (part: string) => {
            text += part
          })
          answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: parsed(text) })).on("error", reject)
        })
        request.on("error", reject)
        request.end(body)
      }),
    upgrade: (path, headers) =>
      new Promise((resolve, reject) => {
        const url = new URL(path, server)
        url.protocol = "wss:"
        const socket = new WebSocket(url, "v4.channel.k8s.io", { ...tls, headers, perMessageDeflate: false })
        socket.once("open", () => resolve(socket)).once("error", reject)
        socket.once("unexpected-response", (_request, answer) => {
          let text = ""
          answer.setEncoding("utf8").on("data", (part: string) => {
            text += part
          })
          answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: parsed(text) }))
        })
      })
  }
}
