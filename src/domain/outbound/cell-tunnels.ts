/**
 * The tunnels that a cell has accepted, by the names of their members: which one is used for a member, which ones have
 * been replaced by a newer one, and why there is none. Each function gives the tunnels that follow and the actions that
 * lead there; a tunnel that is refused or destroyed is not among them any more.
 *
 * Not here: carrying actions out (app/outbound), the bounds of both sides (tunnel-end.ts), and the other side
 * (outpost-plan.ts). Without another word times are those of the steady clock, ms.
 */

import { quotation, quoted } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import { momentText, spanText } from "../fleet/credentials/validity.ts"
import { renewCommand } from "./renew-command.ts"
import { afterLook, boundAt, type BoundedTunnel, noSilence, reachedBound, type TunnelMoment } from "./tunnel-end.ts"

const second = 1_000

/** A tunnel on which nothing was heard for so long is suspect, ms: requests on it might hang. */
const suspectAfter = 45 * second
/** Time between two looks, ms; a silence is found so late at most. */
const lookEvery = 5 * second
/** Keys of one member that are remembered beside a tunnel's own; few of their certificates last at the same time. */
const maxKeys = 4

/** A path limits its connections, if it ends so many tunnels of a member in a row after the same time. */
const limitedAfter = 3
/** How much these times may differ, ms. */
const limitSpread = 2 * second
/** A tunnel that ends sooner has another reason, ms. */
const minLimit = 10 * second

/** The certificate of a member, as the port for tunnels has it. */
export interface TunnelMember {
  readonly name: ClusterName
  readonly keyId: string
  /** Epoch ms. */
  readonly until: number
}

/** `state`: as in {@link BoundedTunnel}; never `Dialling`. At most one tunnel of a member is `Live`. */
export interface CellTunnel extends BoundedTunnel {
  /** Grows from tunnel to tunnel of a cell. */
  readonly id: number
  readonly member: TunnelMember
  /** The address that the member dialled from. */
  readonly from: string
  /** Ids of keys that are the same member's: this one's, those before it, and those that it got a certificate for. */
  readonly keys: ReadonlyArray<string>
  /** When it became `Live`, epoch ms, by the clock of that moment; `undefined` before that. */
  readonly liveAt?: number
}

/** A tunnel in a cell. */
export type TunnelRef = Pick<CellTunnel, "id" | "member">

interface Parting {
  /** Epoch ms. */
  readonly at: number
  /** A clause. */
  readonly why: string
  /** How long each of the member's last tunnels was used, ms, newest last. Empty if this cell ended the last one. */
  readonly lasted: ReadonlyArray<number>
}

export interface CellTunnels {
  /** In the order in which the tunnels were accepted. No entry is empty. */
  readonly byName: ReadonlyMap<ClusterName, ReadonlyArray<CellTunnel>>
  readonly lastId: number
  /** When and why the last tunnel of a member ended. */
  readonly partings: ReadonlyMap<ClusterName, Parting>
  /** When this cell began to accept tunnels, epoch ms. */
  readonly startedAt: number
}

export type CellAction =
  /** Answer the hello; the tunnel is used from now on. */
  | { readonly _tag: "Welcome"; readonly id: number }
  /** Open no more lanes on the tunnel. */
  | { readonly _tag: "Drain"; readonly id: number }
  /** Send the outpost the reason, a sentence, and end the tunnel. */
  | { readonly _tag: "Refuse"; readonly id: number; readonly why: string }
  | { readonly _tag: "Destroy"; readonly id: number; readonly why: string }
  /** Record an Event on the cluster. `why`: a sentence. */
  | {
      readonly _tag: "Report"
      readonly name: ClusterName
      readonly reason: "TunnelRefused" | "TunnelLimited"
      readonly why: string
    }

export interface CellStep {
  readonly tunnels: CellTunnels
  /** To be carried out in this order. */
  readonly actions: ReadonlyArray<CellAction>
}

export const newCell = (now: number): CellTunnels => ({
  byName: new Map(),
  lastId: 0,
  partings: new Map(),
  startedAt: now
})

const tunnelsOf = ({ byName }: CellTunnels, name: ClusterName): ReadonlyArray<CellTunnel> => byName.get(name) ?? []

const withTunnels = (cell: CellTunnels, name: ClusterName, tunnels: ReadonlyArray<CellTunnel>): CellTunnels => {
  const byName = new Map(cell.byName)
  if (tunnels.length === 0) byName.delete(name)
  else byName.set(name, tunnels)
  return { ...cell, byName }
}

/** The tunnel on which lanes to a member are opened; `undefined` if there is none. It may be suspect. */
export const currentOf = (cell: CellTunnels, name: ClusterName): CellTunnel | undefined =>
  tunnelsOf(cell, name).find(({ state }) => state === "Live")

const isSuspect = ({ silence }: CellTunnel, elapsed: number): boolean => elapsed >= silence.heard + suspectAfter

/** Takes a tunnel that stands. It is not used before its hello has come. */
export const afterAccepted = (
  cell: CellTunnels,
  { from, member }: Pick<CellTunnel, "from" | "member">,
  { elapsed }: TunnelMoment
): { readonly tunnels: CellTunnels; readonly tunnel: CellTunnel } => {
  const { name, until } = member
  const id = cell.lastId + 1
  const silence = noSilence(elapsed)
  const tunnel: CellTunnel = {
    id,
    member,
    from,
    keys: [member.keyId],
    state: "Greeting",
    since: elapsed,
    silence,
    until
  }
  return { tunnels: { ...withTunnels(cell, name, [...tunnelsOf(cell, name), tunnel]), lastId: id }, tunnel }
}

/** Removes this tunnel alone: its member may have others. */
const without = (cell: CellTunnels, { id, member: { name } }: TunnelRef, { why, ...parting }: Parting): CellTunnels => {
  const rest = tunnelsOf(cell, name).filter((other) => other.id !== id)
  const left = withTunnels(cell, name, rest)
  if (rest.length === tunnelsOf(cell, name).length || currentOf(left, name) !== undefined) return left
  // A replaced tunnel that ends late is not the reason why there is no other one.
  const isNews = tunnelsOf(cell, name).find((tunnel) => tunnel.id === id)?.state !== "Draining"
  return isNews ? { ...left, partings: new Map(left.partings).set(name, { ...parting, why: quotation(why) }) } : left
}

/** The time after which something ends each tunnel, ms; `undefined` if there is no sign of such a limit. */
const limitOf = (lasted: ReadonlyArray<number>): number | undefined => {
  const [min, max] = [Math.min(...lasted), Math.max(...lasted)]
  return lasted.length === limitedAfter && min >= minLimit && max - min <= limitSpread ? max : undefined
}

const whyLimited = (limit: number): string =>
  `each of the last ${limitedAfter} tunnels ended after ${spanText(limit)}: a proxy or load balancer on the way ` +
  "limits connections, or the operator of that cluster ends again and again"

/** Takes note of a tunnel that has ended without this cell's doing. `why`: a clause. */
export const afterEnded = (
  cell: CellTunnels,
  tunnel: TunnelRef,
  why: string,
  { elapsed, now }: TunnelMoment
): CellStep => {
  const { name } = tunnel.member
  const before = cell.partings.get(name)?.lasted ?? []
  const ended = currentOf(cell, name)
  const lasted = ended?.id === tunnel.id ? [...before, elapsed - ended.since].slice(-limitedAfter) : before
  const tunnels = without(cell, tunnel, { at: now, why, lasted })
  const limit = limitOf(lasted)
  if (limit === undefined || ended?.id !== tunnel.id || limitOf(before) !== undefined) return { tunnels, actions: [] }
  const cure = "Let it pass TCP on as it is, or raise the limit; otherwise look at the log of that operator."
  const report = `Sessions and requests over cluster ${quoted(name)} break: ${whyLimited(limit)}. ${cure}`
  return { tunnels, actions: [{ _tag: "Report", name, reason: "TunnelLimited", why: report }] }
}

const refuse = (cell: CellTunnels, tunnel: TunnelRef, why: string, now: number): CellStep => ({
  tunnels: without(cell, tunnel, { at: now, why, lasted: [] }),
  actions: [{ _tag: "Refuse", id: tunnel.id, why }]
})

/** The reason for an outpost whose name another one has. `since`: when the other one's tunnel was welcomed. */
const whyTaken = ({ from, member: { name }, since }: CellTunnel, elapsed: number): string =>
  `Cluster ${quoted(name)} has a tunnel with another key, from ${quoted(from)}, for ${spanText(elapsed - since)}: ` +
  "two operators use one cluster's name, or a certificate was copied. Switch the wrong one off, or run " +
  `${renewCommand(name)}: once its token is used, the older keys are refused.`

/** The same for the people of the cluster whose tunnel stays. */
const whyRival = ({ from, member: { name } }: CellTunnel): string =>
  `An operator that dialled from ${quoted(from)} with another key was refused as cluster ${quoted(name)}: two ` +
  "operators use one cluster's name, or a certificate was copied. Switch the wrong one off, or run " +
  `${renewCommand(name)}: once its token is used, the older keys are refused.`

/**
 * Takes note of a tunnel's hello. The newest tunnel of a member is used, and the one before it is drained. Another key
 * is refused while the tunnel of a member is alive, as it may be another operator's, and comes in the place of a
 * suspect.
 */
export const afterHello = (cell: CellTunnels, { id, member }: TunnelRef, moment: TunnelMoment): CellStep => {
  const { elapsed, now } = moment
  const { name } = member
  const tunnel = tunnelsOf(cell, name).find((other) => other.id === id)
  if (tunnel?.state !== "Greeting") return { tunnels: cell, actions: [] }
  const before = currentOf(cell, name)
  const isSame = before?.keys.includes(member.keyId) ?? false
  if (before !== undefined && !isSame && !isSuspect(before, elapsed)) {
    const { actions, tunnels } = refuse(cell, tunnel, whyTaken(before, elapsed), now)
    return { tunnels, actions: [...actions, { _tag: "Report", name, reason: "TunnelRefused", why: whyRival(tunnel) }] }
  }
  const keys = before !== undefined && isSame ? before.keys : tunnel.keys
  const live: CellTunnel = { ...tunnel, state: "Live", since: elapsed, liveAt: now, keys }
  const others = tunnelsOf(cell, name).map((other): CellTunnel => {
    if (other.id === id) return live
    return other === before ? { ...other, state: "Draining", since: elapsed } : other
  })
  const tunnels = withTunnels(cell, name, others)
  const welcome = { _tag: "Welcome", id } as const
  if (before === undefined) return { tunnels, actions: [welcome] }
  if (isSame) return { tunnels, actions: [welcome, { _tag: "Drain", id: before.id }] }
  const refused = refuse(tunnels, before, whyTaken(live, elapsed), now)
  return { tunnels: refused.tunnels, actions: [welcome, ...refused.actions] }
}

/** Takes note of a certificate for another key that a member has got on its tunnel. */
export const afterRenewed = (cell: CellTunnels, { id, member: { name } }: TunnelRef, keyId: string): CellTunnels => {
  const tunnels = tunnelsOf(cell, name)
  const keys = tunnels.find((tunnel) => tunnel.id === id)?.keys ?? []
  const newest = [...keys.filter((key) => key !== keyId), keyId].slice(-maxKeys)
  return withTunnels(
    cell,
    name,
    tunnels.map((tunnel) =>
      keys.includes(tunnel.member.keyId) ? { ...tunnel, keys: [...new Set([tunnel.member.keyId, ...newest])] } : tunnel
    )
  )
}

const allTunnels = ({ byName }: CellTunnels): ReadonlyArray<CellTunnel> => [...byName.values()].flat()

/**
 * Refuses open tunnels, after members have left or keys were revoked. `refusal`: the reason why a certificate is
 * refused now, a sentence; `undefined` if it is not. A tunnel that is drained is judged by the newer certificate of the
 * same member, since no renewal is to end what goes on with the older one. `only`: the member that has changed; all of
 * them unless given.
 */
export const afterRefusals = (
  cell: CellTunnels,
  refusal: (member: TunnelMember) => string | undefined,
  { now }: TunnelMoment,
  only?: ClusterName
): CellStep => {
  let tunnels = cell
  const actions: Array<CellAction> = []
  for (const tunnel of only === undefined ? allTunnels(cell) : tunnelsOf(cell, only)) {
    const { member, state } = tunnel
    const current = state === "Draining" ? currentOf(cell, member.name) : undefined
    const why = refusal(current?.keys.includes(member.keyId) === true ? current.member : member)
    if (why === undefined) continue
    const refused = refuse(tunnels, tunnel, why, now)
    tunnels = refused.tunnels
    actions.push(...refused.actions)
  }
  return { tunnels, actions }
}

/**
 * Looks at all tunnels, and destroys those that have reached a bound. `received`: the bytes that have come, by tunnel.
 * `wakeAt`: when the next look is due; `undefined` without tunnels.
 */
export const cellPlan = (
  cell: CellTunnels,
  received: ReadonlyMap<number, number>,
  moment: TunnelMoment
): CellStep & { readonly wakeAt: number | undefined } => {
  const { elapsed, now } = moment
  const look = (tunnel: CellTunnel): CellTunnel => {
    const bytes = received.get(tunnel.id)
    return bytes === undefined ? tunnel : { ...tunnel, silence: afterLook(tunnel.silence, bytes, elapsed) }
  }
  let tunnels: CellTunnels = {
    ...cell,
    byName: new Map([...cell.byName].map(([name, all]) => [name, all.map(look)] as const))
  }
  const actions: Array<CellAction> = []
  for (const tunnel of allTunnels(tunnels)) {
    const why = reachedBound(tunnel, moment)
    if (why === undefined) continue
    tunnels = without(tunnels, tunnel, { at: now, why, lasted: [] })
    actions.push({ _tag: "Destroy", id: tunnel.id, why })
  }
  const left = allTunnels(tunnels)
  const wakeAt = Math.min(elapsed + lookEvery, ...left.map((tunnel) => boundAt(tunnel, moment)))
  return { tunnels, actions, wakeAt: left.length === 0 ? undefined : wakeAt }
}

/** When a look at this member's tunnels is due, by the steady clock, ms; Infinity without tunnels. */
export const dueAt = (cell: CellTunnels, name: ClusterName, moment: TunnelMoment): number =>
  Math.min(...tunnelsOf(cell, name).map((tunnel) => boundAt(tunnel, moment)))

/** Why requests to a member are refused at once, a sentence; `undefined` if it has a tunnel that is well. */
export const whyUnusable = (
  cell: CellTunnels,
  name: ClusterName,
  { elapsed }: Pick<TunnelMoment, "elapsed">
): string | undefined => {
  const current = currentOf(cell, name)
  const cure =
    "look at the log of the operator in that cluster, and whether the address of this primary's cell can be reached " +
    "from there"
  if (current !== undefined) {
    if (!isSuspect(current, elapsed)) return undefined
    const silence = spanText(elapsed - current.silence.heard)
    return `Nothing has come from cluster ${quoted(name)} for ${silence}, although its tunnel stands; ${cure}.`
  }
  const parting = cell.partings.get(name)
  const limit = limitOf(parting?.lasted ?? [])
  const limited = limit === undefined ? "" : `; ${whyLimited(limit)}`
  const since =
    parting === undefined
      ? `this operator began to listen at ${momentText(cell.startedAt)}`
      : `its tunnel ended at ${momentText(parting.at)} (${parting.why}${limited})`
  return `Cluster ${quoted(name)} has not dialled since ${since}; ${cure}.`
}
