/**
 * A network address, as all rooms and the agent pass it around. Never a name: names are resolved before
 * (`cluster-dns.ts`).
 */

/** `ip` is an IPv4 or IPv6 literal. */
export interface Endpoint {
  readonly ip: string
  readonly port: number
}
