/**
 * The way of one call or connection between two places: over the network, or over a lane of a tunnel (`tunnels.ts`).
 */

import type { Cancel, Kernel, Owner } from "../kernel/kernel.ts"
import { Flow, type Network, type Place } from "./network.ts"

/** One direction: packets arrive in order, and none arrives after `stop`. */
export type OneWay = Pick<Flow, "send" | "stop">

export interface Road {
  /** Whether packets pass both ways now. */
  readonly isOpen: () => boolean
  /** Whether a caller that gave up before its first packet got through has never begun. */
  readonly isDialled: boolean
  /** Sends a single packet. */
  readonly go: (run: () => void) => void
  readonly back: (run: () => void) => void
  readonly flowThere: (receiver: Owner) => OneWay
  readonly flowBack: (receiver: Owner) => OneWay
  /** Calls back when the road breaks: `near` where it began, `far` at its other end. */
  readonly whenBroken: (near: (why: string) => void, far?: (why: string) => void) => Cancel
  /** Gives the road up, where it began. */
  readonly close: () => void
}

/** The way over the network; each packet finds its way by itself. `owner`: of what comes back. */
export const networkRoad = (
  { kernel, network }: { readonly kernel: Kernel; readonly network: Network },
  from: Place,
  to: Place,
  owner: Owner
): Road => ({
  isOpen: () => network.isOpen(from, to) && network.isOpen(to, from),
  isDialled: true,
  go: (run) => network.send(from, to, run),
  back: (run) => network.send(to, from, run, owner),
  flowThere: (receiver) => new Flow({ kernel, network }, from, to, receiver),
  flowBack: (receiver) => new Flow({ kernel, network }, to, from, receiver),
  whenBroken: () => () => {},
  close: () => {}
})
