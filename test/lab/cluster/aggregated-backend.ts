import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { TLSSocket } from "node:tls"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { listenLocally } from "../../support/listen-locally.ts"

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headersDistinct"]
  readonly clientName: string
  readonly trusted: boolean
}

/** An aggregated API server for tests: records its requests, answers as the test says. */
export interface Backend {
  readonly port: number
  readonly caPem: string
  readonly seen: ReadonlyArray<SeenRequest>
  readonly onRequest: (handler: (req: IncomingMessage, res: ServerResponse) => void) => void
  readonly onUpgrade: (handler: (req: IncomingMessage, socket: Duplex, reset: () => void) => void) => void
  /**
   * Behaves like a suspended process until the returned function is called: connections open, but no byte comes, not
   * even of TLS.
   */
  readonly freeze: () => () => void
  readonly close: () => Promise<void>
}

const discoveryOf = (group: string, version: string) => ({
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${group}/${version}`,
  resources: [
    { name: "gadgets", singularName: "gadget", namespaced: false, kind: "Gadget", verbs: ["get", "list", "proxy"] }
  ]
})

/** The objects by which an API server finds version `v1` of a group at a port of this machine. */
export const apiServiceAt = (group: string, port: number): string => `
apiVersion: v1
kind: Service
metadata: { name: api, namespace: default }
spec: { type: ExternalName, externalName: localhost, ports: [{ port: ${port} }] }
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1.${group} }
spec:
  group: ${group}
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: { name: api, namespace: default, port: ${port} }
`

export interface BackendOptions {
  readonly group: string
  readonly version: string
  readonly frontProxyCaPem: string
  /** The address to listen at. */
  readonly host: string
}

export const startBackend = async ({ frontProxyCaPem, group, host, version }: BackendOptions): Promise<Backend> => {
  const root = `/apis/${group}/${version}`
  const authority = await createAuthority("backend-ca", Date.now)
  const certificate = await authority.issue({ commonName: "backend", sans: [{ type: "dns", value: "api.tools.svc" }] })
  const seen: Array<SeenRequest> = []
  const transports = new Set<Socket>()
  let handle = (_req: IncomingMessage, res: ServerResponse): void => void res.writeHead(404).end()
  let upgrade = (_req: IncomingMessage, socket: Duplex, _reset: () => void): void => void socket.destroy()
  const remember = (req: IncomingMessage): void => {
    const socket = req.socket
    seen.push({
      method: req.method ?? "",
      url: req.url ?? "",
      headers: req.headersDistinct,
      clientName: socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject?.CN ?? "") : "",
      trusted: socket instanceof TLSSocket && socket.authorized
    })
  }
  const server: Server = createServer(
    {
      cert: certificate.certPem,
      key: certificate.keyPem,
      ca: frontProxyCaPem,
      requestCert: true,
      rejectUnauthorized: false,
      allowHalfOpen: true
    },
    (req, res) => {
      if (req.url === root) {
        const body = JSON.stringify(discoveryOf(group, version))
        res.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }).end(body)
        return
      }
      // Requests that a real API server makes on its own, such as for OpenAPI documents.
      if (req.url?.startsWith(`${root}/`) !== true) return void res.writeHead(404).end()
      remember(req)
      handle(req, res)
    }
  )
  server.on("connection", (transport) => {
    if (!(transport instanceof Socket)) return
    transports.add(transport)
    transport.on("close", () => transports.delete(transport)).on("error", () => {})
  })
  server.on("upgrade", (req, socket) => {
    remember(req)
    socket.on("error", () => {})
    upgrade(req, socket, () => {
      for (const transport of transports)
        if (transport.remotePort === req.socket.remotePort) transport.resetAndDestroy()
    })
  })
  return {
    port: await listenLocally(server, host),
    caPem: authority.caPem,
    seen,
    onRequest: (handler) => {
      handle = handler
    },
    onUpgrade: (handler) => {
      upgrade = handler
    },
    freeze: () => {
      const served = server.listeners("connection")
      const waiting: Array<Socket> = []
      server.removeAllListeners("connection").on("connection", (transport: Socket) => {
        transports.add(transport)
        waiting.push(transport.on("error", () => {}))
      })
      return () => {
        server.removeAllListeners("connection")
        for (const serve of served) server.on("connection", serve as (transport: Socket) => void)
        for (const transport of waiting) server.emit("connection", transport)
      }
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      for (const transport of transports) transport.destroy()
    }
  }
}
