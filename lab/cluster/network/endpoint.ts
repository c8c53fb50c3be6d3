/** A network address. `ip` is an IPv4 or IPv6 literal. */
export interface Endpoint {
  readonly ip: string
  readonly port: number
}
