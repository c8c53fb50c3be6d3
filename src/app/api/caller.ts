import type { IncomingMessage } from "node:http"
import type { TLSSocket } from "node:tls"

/** Who makes a request, as the API server in front of us authenticated them. */
export interface Caller {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

/** What the cluster says about its front proxy: ConfigMap `kube-system/extension-apiserver-authentication`. */
export interface FrontProxy {
  /** PEM of the CA that signs the proxy's client certificate. */
  readonly certificateAuthority: string
  /** Common names that the proxy may have; empty: any. */
  readonly allowedNames: ReadonlyArray<string>
}

export type CallerResult = Caller | { readonly refused: string }

/** The part of an extra header's name after its prefix, which is percent-encoded. */
const extraKey = (name: string): string => {
  const text = name.slice("x-remote-extra-".length)
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const header = (request: IncomingMessage, name: string): ReadonlyArray<string> => request.headersDistinct[name] ?? []

/**
 * Reads the identity that the API server vouches for. The `X-Remote-*` headers count only on a connection whose client certificate
 * was signed by the front-proxy CA; anybody else who reaches this port is nobody.
 *
 * `verify` is false only where an installation says so (`requireFrontProxyClientCert: false`).
 */
export const callerOf = (request: IncomingMessage, proxy: FrontProxy | undefined, verify: boolean): CallerResult => {
  if (verify) {
    const socket = request.socket as TLSSocket
    if (proxy === undefined) return { refused: "the front-proxy CA is not known yet" }
    if (!socket.authorized) return { refused: "the connection has no client certificate of the API server's front proxy" }
    const commonName = socket.getPeerCertificate().subject?.CN
    const name = typeof commonName === "string" ? commonName : ""
    if (proxy.allowedNames.length > 0 && !proxy.allowedNames.includes(name)) {
      return { refused: `the client certificate belongs to ${JSON.stringify(name)}, not to the API server's front proxy` }
    }
  }
  const user = header(request, "x-remote-user")[0]
  if (user === undefined || user === "") return { refused: "the request carries no X-Remote-User" }
  const extra = Object.entries(request.headersDistinct).flatMap(([name, values]) =>
    name.startsWith("x-remote-extra-")
      ? [[extraKey(name), values ?? []] as const]
      : []
  )
  return { user, groups: header(request, "x-remote-group"), extra: Object.fromEntries(extra) }
}
