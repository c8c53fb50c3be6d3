import type { Lease } from "../resources/core-kinds.ts"
import { isPredecessor } from "./identity.ts"
import type { LeaseTimes } from "./lease-times.ts"

/** What a Lease says. */
export interface LeaseRecord {
  /** Empty: it was released. */
  readonly holder: string
  /** `leaseTransitions`: how often the Lease has changed hands. Every term has another one. */
  readonly epoch: number
  /** What the holder promises, ms. */
  readonly duration: number | undefined
  /** As written by the holder, by its own clock: only whether it changes means anything. */
  readonly renewedAt: string
  readonly acquiredAt: string
}

/** A Lease as this process knows it. */
export interface ObservedLease {
  readonly record: LeaseRecord
  readonly version: string
  /** When this process saw what it says for the first time, by its own steady clock in ms. */
  readonly since: number
}

/** What a step writes. */
export interface LeaseSpec {
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly acquireTime: string
  readonly renewTime: string
  readonly leaseTransitions: number
}

export type LeaseStep =
  /** There is none. */
  | { readonly _tag: "Create"; readonly spec: LeaseSpec }
  /** Nobody holds it any more: a new epoch begins. */
  | { readonly _tag: "Acquire"; readonly version: string; readonly spec: LeaseSpec }
  | { readonly _tag: "Renew"; readonly version: string; readonly spec: LeaseSpec }
  /** Somebody else holds it, for all that is known until then by the steady clock. */
  | { readonly _tag: "StandBy"; readonly holder: string; readonly until: number }

/** Who decides, and when. */
export interface LeaseMoment {
  readonly identity: string
  /**
   * Whether the term of this process still runs; it is over for good once it has ended, be the Lease still in this
   * process's name.
   */
  readonly term: { readonly epoch: number } | undefined
  /** The steady clock of this process, ms: by it others' silence is measured. */
  readonly elapsed: number
  /** The host's clock, epoch ms: only written, never compared. */
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

/** Whether its holder has given it up. */
export const isReleased = (lease: Lease): boolean => recordOf(lease).holder === ""

const isSame = (a: LeaseRecord, b: LeaseRecord): boolean =>
  a.holder === b.holder &&
  a.epoch === b.epoch &&
  a.duration === b.duration &&
  a.renewedAt === b.renewedAt &&
  a.acquiredAt === b.acquiredAt

/** Takes note of a Lease as it was just read. `elapsed`: the steady clock after the answer came, ms. */
export const observeLease = (before: ObservedLease | undefined, lease: Lease, elapsed: number): ObservedLease => {
  const record = recordOf(lease)
  const known = before !== undefined && isSame(before.record, record)
  return { record, version: lease.metadata.resourceVersion ?? "", since: known ? before.since : elapsed }
}

/**
 * What to do about the Lease, in the manner of client-go: a holder counts as alive for its lease duration after this
 * process saw it renew. The times in the Lease are other hosts' and are not looked at, so that wrong clocks do no harm.
 * A write names the version that was seen: of several that acquire at once, one succeeds.
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
    record: { acquiredAt, duration, epoch, holder },
    since,
    version
  } = observed
  if (term !== undefined && holder === identity && epoch === term.epoch)
    return { _tag: "Renew", version, spec: spec(epoch, acquiredAt) }
  const until = since + (duration ?? times.leaseDuration)
  const isFree = holder === "" || holder === identity || isPredecessor(holder, identity) || elapsed >= until
  return isFree
    ? { _tag: "Acquire", version, spec: spec(epoch + 1, microTime(now)) }
    : { _tag: "StandBy", holder, until }
}

/** Gives the Lease up, so that nobody needs to wait for its end; nothing if it is not this process's. */
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
