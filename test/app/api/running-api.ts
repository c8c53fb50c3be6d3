import { type EventEmitter, once } from "node:events"
import type { IncomingMessage } from "node:http"
import https from "node:https"
import tls from "node:tls"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { type CertificateAuthority, createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { readBundle } from "../../../src/adapters/x509/certificate-bundle.ts"
import { type ApiServerOptions, serveApi } from "../../../src/app/api/aggregated-api.ts"
import { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { unchanging } from "../../../src/app/api/served-certificate.ts"
import { defaultHeaders } from "../../../src/domain/fleet/credentials/front-proxy.ts"
import { idleFacade } from "../../support/idle-facade.ts"

export const root = "/apis/operator.metalbear.co/v1"
export const certificatePath = `${root}/mirrordoperators/operator/certificate`
const target = `${root}/proxy/namespaces/default/targets/deployment.myapp`

export interface Certificates {
  readonly front: CertificateAuthority
  readonly other: CertificateAuthority
  readonly proxy: KeyPair
  /** Of the front proxy's authority, but not the front proxy. */
  readonly stranger: KeyPair
  readonly serving: KeyPair
}

export const makeCertificates = async (): Promise<Certificates> => {
  const [front, other] = await Promise.all([createAuthority("front", Date.now), createAuthority("other", Date.now)])
  return {
    front,
    other,
    proxy: await front.issue({ commonName: "front-proxy-client" }),
    stranger: await front.issue({ commonName: "somebody" }),
    serving: await other.issue({ commonName: "operator", sans: [{ type: "ip", value: "127.0.0.1" }] })
  }
}

export interface Answer {
  readonly status: number
  readonly body: string
}

/** Reads an answer to its end. */
export const answerOf = async (response: IncomingMessage): Promise<Answer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }
}

/** The aggregated API with a facade that does nothing, and ways to reach it. */
export const runApi = async (
  { front, other, proxy, serving }: Certificates,
  options: Partial<ApiServerOptions> = {},
  parts: Partial<OperatorFacade["Service"]> = {},
  log: Layer.Layer<never> = Layer.empty
) => {
  const scope = Effect.runSync(Scope.make())
  const { port } = await Effect.runPromise(
    serveApi({
      host: "127.0.0.1",
      port: 0,
      certificate: unchanging({ certificatePem: serving.certPem, keyPem: Redacted.make(serving.keyPem) }),
      frontProxy: {
        known: () => ({
          certificateAuthority: front.caPem,
          authorities: readBundle(front.caPem),
          allowedNames: ["front-proxy-client"],
          headers: defaultHeaders
        }),
        listen: () => {}
      },
      requireFrontProxy: true,
      ...options
    }).pipe(
      Effect.provideService(OperatorFacade, { ...idleFacade, ...parts }),
      Effect.provide(log),
      Scope.provide(scope)
    )
  )
  /** The options of a connection with a client certificate, or without. */
  const secure = (client: KeyPair | undefined) => ({
    host: "127.0.0.1",
    port,
    ca: other.caPem,
    ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem })
  })
  const sockets = new Set<tls.TLSSocket>()
  const dial = async (client: KeyPair | undefined): Promise<tls.TLSSocket> => {
    const options = { ...secure(client), allowHalfOpen: true }
    const socket = tls.connect(options)
    sockets.add(socket)
    socket.on("error", () => {})
    await once(socket, "secureConnect")
    return socket
  }
  const request = (method: string, path: string, client: KeyPair | undefined = proxy, user = "dev") =>
    https.request({ ...secure(client), method, path, agent: false, headers: { "X-Remote-User": user } })
  const get = async (path: string, client?: KeyPair): Promise<Answer> => {
    const asked = request("GET", path, client).end()
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    return answerOf(response)
  }
  return {
    port,
    dial,
    request,
    get,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

/** The text of an upgrade, without the headers in `leaveOut`. */
export const upgradeText = (
  path: string,
  headers: Readonly<Record<string, string>> = {},
  leaveOut: ReadonlyArray<string> = []
): string => {
  const all: Readonly<Record<string, string>> = {
    Host: "operator",
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
    "X-Remote-User": "dev",
    "x-session-id": "5",
    ...headers
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (leaveOut.includes(name) ? [] : [`${name}: ${value}`]))
  return [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n")
}

/** The text of a user's connect request. */
export const connectText = (headers: Readonly<Record<string, string>> = {}): string =>
  upgradeText(`${target}?connect=true`, { "x-client-der": "AAAA", ...headers })

/** Completes with an event; unlike Node's `once`, an error is none. */
export const comes = async (from: EventEmitter, event: string): Promise<void> =>
  new Promise((resolve) => {
    from.once(event, () => resolve())
  })

/** All that comes until the other side ends or cuts the connection. */
export const textOf = async (socket: tls.TLSSocket): Promise<string> => {
  // An end that came before is not told again, and the socket is still open for writing.
  if (socket.destroyed || socket.readableEnded) return ""
  let text = ""
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1")
  })
  await Promise.race([comes(socket, "end"), comes(socket, "close")])
  return text
}
