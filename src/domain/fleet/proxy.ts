/**
 * The proxy through which an API server is reached, by the variables that kubectl and other programs in Go read
 * (`net/http`'s `ProxyFromEnvironment`).
 *
 * Not here: a kubeconfig's `proxy-url`, which comes first, and connecting (adapters/kubernetes/proxies.ts).
 */

import { parseIp } from "../protocol/ip-address.ts"

/** Variables by name. Names in capitals come first, as in Go. */
type Variables = Readonly<Record<string, string | undefined>>

const read = (variables: Variables, name: string): string => variables[name] || variables[name.toLowerCase()] || ""

/** Whether the first `bits` of two addresses of one family are the same. */
const sharePrefix = (one: Uint8Array, other: Uint8Array, bits: number): boolean =>
  one.length === other.length &&
  one.every((octet, at) => {
    const shift = 8 - Math.max(0, Math.min(8, bits - at * 8))
    return octet >> shift === (other[at] ?? 0) >> shift
  })

const isLoopback = (host: string, ip: Uint8Array | undefined): boolean =>
  host === "localhost" || (ip?.length === 4 ? ip[0] === 127 : host === "::1")

/** Whether an entry of `NO_PROXY` covers a host: an address, a range, a domain with all below it, each with a port. */
const covers = (entry: string, host: string, ip: Uint8Array | undefined, port: string): boolean => {
  if (entry === "*") return true
  const [, network = "", bits = ""] = /^(.+)\/(\d{1,3})$/u.exec(entry) ?? []
  if (network !== "") {
    const octets = parseIp(network)
    return ip !== undefined && octets !== undefined && sharePrefix(ip, octets, Number(bits))
  }
  const [, bare = entry, ofPort] = /^(\[[^\]]*\]|[^:]*):(\d+)$/u.exec(entry) ?? []
  if (ofPort !== undefined && ofPort !== port) return false
  const name = bare.replace(/^\[|\]$/gu, "").replace(/^\*(?=\.)/u, "")
  if (ip !== undefined) return name === host
  return name.startsWith(".") ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

/** The proxy for an API server; `undefined` if it is reached without. A proxy without a scheme is one of HTTP. */
export const proxyFor = (server: string, variables: Variables): string | undefined => {
  const proxy = read(variables, server.startsWith("http:") ? "HTTP_PROXY" : "HTTPS_PROXY")
  if (proxy === "" || !URL.canParse(server)) return undefined
  const url = new URL(server)
  const host = url.hostname.replace(/^\[|\]$/gu, "").toLowerCase()
  const ip = parseIp(host)
  const port = url.port || (url.protocol === "http:" ? "80" : "443")
  const entries = read(variables, "NO_PROXY")
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
  const isLeftOut = entries.some((entry) => entry !== "" && covers(entry, host, ip, port))
  if (isLeftOut || isLoopback(host, ip)) return undefined
  return proxy.includes("://") ? proxy : `http://${proxy}`
}
