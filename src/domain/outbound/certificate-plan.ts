/**
 * How long the certificates of tunnels are valid, and when they are renewed.
 *
 * Not here: making them (adapters/x509/tunnel-certificates.ts). Times are epoch ms of the clock of the side that asks.
 */

import type { ClusterName } from "../fleet/cluster-name.ts"
import { momentText } from "../fleet/credentials/validity.ts"
import { renewCommand } from "./renew-command.ts"

const hour = 3_600_000

/** Certificates are valid from so long before they are made, ms, for sides whose clocks are behind. */
const skew = hour
/** Hours for which a certificate of a tunnel is valid at most. */
export const maxCertificateHours = 72
/** The same, ms: so long after an authority signed for the last time all that it has signed has ended. */
export const maxLife = maxCertificateHours * hour
/** How long an authority is valid, ms: ten years. */
const authorityTime = 10 * 365 * 24 * hour
/** Part of the time after it was made after which a certificate is renewed at the latest. */
const latest = 2 / 3
/** Part of the life over which the renewals of many members are spread. */
const spread = 1 / 10

/** When a certificate is valid, epoch ms. */
export interface TunnelLife {
  readonly from: number
  readonly until: number
}

/** The life of a side's certificate that is made now. */
export const tunnelLife = (now: number, hours: number): TunnelLife => ({ from: now - skew, until: now + hours * hour })

/** The life of an authority that is made now. */
export const authorityLife = (now: number): TunnelLife => ({ from: now - skew, until: now + authorityTime })

/** When a certificate is to be renewed. `share`: from 0 up to 1, this member's place in the spread. */
export const renewalAt = ({ from, until }: TunnelLife, share: number): number => {
  const madeAt = from + skew
  return madeAt + (until - madeAt) * (latest - spread * share)
}

/** Why a member cannot dial with a certificate that has ended, a clause; `undefined` while the certificate lasts. */
export const whyEnded = (name: ClusterName, { until }: TunnelLife, now: number): string | undefined =>
  now < until
    ? undefined
    : `the certificate of cluster ${name} for its tunnel ended at ${momentText(until)}, and could not be renewed ` +
      `before; run ${renewCommand(name)} with a kubeconfig of the primary, and give the token to this cluster`
