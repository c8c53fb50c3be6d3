/**
 * The two addresses of a pod. It always listens on `127.<subnet>.x.y`, which every user can bind without any set-up. A
 * real API server refuses loopback addresses behind a Service, so there the pod is `10.<subnet>.x.y`.
 */

export interface PodAddresses {
  /** The `status.podIP` of a pod that listens on this address. */
  readonly publish: (real: string) => string
  /** The address on which the pod listens. Addresses that are no pod's stay as they are. */
  readonly real: (address: string) => string
}

/** For the embedded API server: pods publish the address on which they listen. */
export const loopbackAddresses: PodAddresses = { publish: (real) => real, real: (address) => address }

/** For a real API server: pods publish `10.<subnet>.x.y`. */
export const publishedAddresses = (subnet: number): PodAddresses => ({
  publish: (real) => (real.startsWith(`127.${subnet}.`) ? real.replace(/^127/u, "10") : real),
  real: (address) => (address.startsWith(`10.${subnet}.`) ? address.replace(/^10/u, "127") : address)
})
