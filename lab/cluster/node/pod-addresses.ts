/**
 * Where the pods of a node are. They always listen on `127.<subnet>.x.y`, since every user can bind that without any
 * set-up. An API server refuses such an address behind a Service, so towards one they are `10.<subnet>.x.y`.
 */
export interface PodAddresses {
  /** What stands in `status.podIP` for a pod that listens on this address. */
  readonly publish: (real: string) => string
  /** Where an address is really served; any but a pod's stays as it is. */
  readonly real: (address: string) => string
}

/** Pods are known by the address that they listen on. */
export const loopbackAddresses: PodAddresses = { publish: (real) => real, real: (address) => address }

/** Pods are known by `10.<subnet>.x.y`. */
export const publishedAddresses = (subnet: number): PodAddresses => ({
  publish: (real) => (real.startsWith(`127.${subnet}.`) ? real.replace(/^127/u, "10") : real),
  real: (address) => (address.startsWith(`10.${subnet}.`) ? address.replace(/^10/u, "127") : address)
})
