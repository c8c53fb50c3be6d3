/**
 * One step of leader election, as a pure decision: the Lease as it was observed and a moment give the write to make.
 *
 * Not here: the loop that reads and writes (app/leadership/elector.ts), and what a leader may do.
 */

import type { Lease } from "../resources/core-kinds.ts"
import { isPredecessor } from "./identity.ts"
import type { LeaseTimes } from "./lease-times.ts"

/** The content of a Lease. */
export interface LeaseRecord {
  /** Identity of the holder; empty: the Lease was released. */
  readonly holder: string
  /** `leaseTransitions`: how often the Lease has changed hands. Every term has its own number. */
  readonly epoch: number
  /** How long the holder may be silent, as it says itself, ms. */
  readonly duration: number | undefined
  /** Written by the holder's clock. Only a change of it means anything. */
  readonly renewedAt: string
  readonly acquiredAt: string
}

/** A Lease as this process knows it. */
export interface ObservedLease {
  readonly record: LeaseRecord
  readonly version: string
  /** When this process first saw this content, by its own steady clock, ms. */
  readonly since: number
}

/** The `spec` that a step writes. */
export interface LeaseSpec {
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly acquireTime: string
  readonly renewTime: string
  readonly leaseTransitions: number
}

export type LeaseStep =
  /** There is no Lease. */
  | { readonly _tag: "Create"; readonly spec: LeaseSpec }
  /** The Lease is free: a new epoch begins. */
  | { readonly _tag: "Acquire"; readonly version: string; readonly spec: LeaseSpec }
  | { readonly _tag: "Renew"; readonly version: string; readonly spec: LeaseSpec }
  /** Another process counts as the holder until that time of the steady clock. */
  | { readonly _tag: "StandBy"; readonly holder: string; readonly until: number }

/** The process that decides, and its clocks. */
export interface LeaseMoment {
  readonly identity: string
  /** The running term of this process. A term that has ended stays ended, even if the Lease still names the process. */
  readonly term: { readonly epoch: number } | undefined
  /** The steady clock of this process, ms, which measures the silence of others. */
  readonly elapsed: number
  /** The host's clock, epoch ms. It is only written and never compared. */
  readonly now: number
}

/** `metav1.MicroTime`, which has exactly six digits. */
const microTime = (time: number): string => new Date(time).toISOString().replace("Z", "000Z")

const recordOf = ({ spec }: Lease): LeaseRecord => ({
  holder: spec?.holderIdentity ?? "",
  epoch: spec?.leaseTransitions ?? 0,
  duration: (spec?.leaseDurationSeconds ?? 0) > 0 ? (spec?.leaseDurationSeconds ?? 0) * 1000 : undefined,
  renewedAt: spec?.renewTime ?? "",
  acquiredAt: spec?.acquireTime ?? ""
})

/** Whether the last holder has given up the Lease. */
export const isReleased = (lease: Lease): boolean => recordOf(lease).holder === ""

const isSame = (a: LeaseRecord, b: LeaseRecord): boolean =>
  a.holder === b.holder &&
  a.epoch === b.epoch &&
  a.duration === b.duration &&
  a.renewedAt === b.renewedAt &&
  a.acquiredAt === b.acquiredAt

/** The observation after a Lease was read. `elapsed`: the steady clock after the answer came, ms. */
export const observeLease = (before: ObservedLease | undefined, lease: Lease, elapsed: number): ObservedLease => {
  const record = recordOf(lease)
  const known = before !== undefined && isSame(before.record, record)
  return { record, version: lease.metadata.resourceVersion ?? "", since: known ? before.since : elapsed }
}

/** Until when the holder counts as alive, by the steady clock. */
const heldUntil = ({ record: { duration }, since }: ObservedLease, { leaseDuration }: LeaseTimes): number =>
  since + (duration ?? leaseDuration)

/** Since when the Lease is free, by the steady clock; `undefined` while it is held. */
export const freeSince = (observed: ObservedLease, elapsed: number, times: LeaseTimes): number | undefined => {
  if (observed.record.holder === "") return observed.since
  const until = heldUntil(observed, times)
  return elapsed >= until ? until : undefined
}

/**
 * The next step, in the manner of client-go: a holder counts as alive for its lease duration after this process saw it
 * renew. The times in the Lease come from other hosts and are not compared, so that wrong clocks do no harm. A write
 * names the version that was seen: if several processes acquire at once, one of them succeeds.
 */
export const leaseStep = (observed: ObservedLease | undefined, moment: LeaseMoment, times: LeaseTimes): LeaseStep => {
  const { elapsed, identity, now, term } = moment
  const spec = (epoch: number, acquireTime: string): LeaseSpec => ({
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(times.leaseDuration / 1000),
    acquireTime,
    renewTime: microTime(now),
    leaseTransitions: epoch
  })
  if (observed === undefined) return { _tag: "Create", spec: spec(0, microTime(now)) }
  const {
    record: { acquiredAt, epoch, holder },
    version
  } = observed
  if (term !== undefined && holder === identity && epoch === term.epoch)
    return { _tag: "Renew", version, spec: spec(epoch, acquiredAt) }
  const until = heldUntil(observed, times)
  const isFree = holder === "" || holder === identity || isPredecessor(holder, identity) || elapsed >= until
  return isFree
    ? { _tag: "Acquire", version, spec: spec(epoch + 1, microTime(now)) }
    : { _tag: "StandBy", holder, until }
}

/** Gives up the Lease, so that no process waits for its end; `undefined` if this process does not hold it. */
export const releaseStep = (
  observed: ObservedLease | undefined,
  { identity, now }: Pick<LeaseMoment, "identity" | "now">
): { readonly version: string; readonly spec: LeaseSpec } | undefined => {
  if (observed === undefined || observed.record.holder !== identity) return undefined
  const { acquiredAt, epoch } = observed.record
  const spec = {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: acquiredAt,
    renewTime: microTime(now),
    leaseTransitions: epoch
  }
  return { version: observed.version, spec }
}
