import { clusterName, type ClusterName } from "../../../src/domain/fleet/cluster-name.ts"
import {
  afterAccepted,
  afterEnded,
  afterHello,
  afterRefusals,
  afterRenewed,
  type CellAction,
  cellPlan,
  type CellStep,
  type CellTunnel,
  currentOf,
  newCell,
  type TunnelMember
} from "../../../src/domain/outbound/cell-tunnels.ts"
import { tunnelLife } from "../../../src/domain/outbound/certificate-plan.ts"
import {
  afterEvent,
  newOutpost,
  type OutpostEvent,
  type OutpostIdentity,
  type OutpostMemory,
  outpostPlan,
  whyAway
} from "../../../src/domain/outbound/outpost-plan.ts"

const start = Date.UTC(2026, 0, 1)
/** Of one way, ms. */
const latency = 50
/** Of a certificate: renewals come within minutes. */
const hours = 0.1

type Side = "cell" | "outpost"

/** A connection. An end that is `undefined` does not exist any more, or not yet. */
interface Wire {
  readonly outpost: PlayedOutpost
  readonly id: number
  readonly member: TunnelMember
  outpostEnd: boolean
  cellEnd: CellTunnel | undefined
  /** Everything is swallowed that goes there, as by a firewall that has forgotten the connection. */
  readonly lost: { cell: boolean; outpost: boolean }
}

export class PlayedOutpost {
  readonly name: ClusterName
  memory: OutpostMemory
  identity: OutpostIdentity | undefined
  /** Ids of all keys for which it got a certificate. */
  readonly keys = new Set<string>()
  readonly received = new Map<number, number>()
  isCut = false
  losesAnswer = false
  /** Grows with each plan. */
  turn = 0

  constructor(name: ClusterName, memory: OutpostMemory) {
    this.name = name
    this.memory = memory
  }
}

/** Outposts, a cell and the network between them, by a clock of their own. */
export class PlayedNetwork {
  elapsed = 0
  cell = newCell(start)
  outposts: ReadonlyArray<PlayedOutpost>
  wires: ReadonlyArray<Wire> = []
  readonly revoked = new Set<string>()
  readonly received = new Map<number, number>()
  #queue: Array<{ readonly at: number; readonly run: () => void }> = []
  #keys = 0
  #chance: number
  #turn = 0

  constructor(names: ReadonlyArray<string>, chance: number) {
    this.#chance = chance
    this.outposts = names.map((name) => new PlayedOutpost(clusterName(name), newOutpost(this.moment())))
    for (const outpost of this.outposts) this.#take(outpost, this.#issue(outpost))
  }

  moment() {
    this.#chance = (Math.imul(this.#chance, 1_664_525) + 1_013_904_223) >>> 0
    return { elapsed: this.elapsed, now: start + this.elapsed, share: this.#chance / 2 ** 32 }
  }

  #issue({ keys, name }: PlayedOutpost): OutpostIdentity {
    const id = `key${++this.#keys}`
    keys.add(id)
    return { id, name, life: tunnelLife(start + this.elapsed, hours) }
  }

  #later(delay: number, run: () => void): void {
    const at = this.elapsed + delay
    const place = this.#queue.findLastIndex((other) => other.at <= at) + 1
    this.#queue.splice(place, 0, { at, run })
  }

  /** Lets time pass. `check` is called after each turn. */
  advance(time: number, check?: () => void): void {
    const end = this.elapsed + time
    for (let next = this.#queue[0]; next !== undefined && next.at <= end; next = this.#queue[0]) {
      this.#queue.shift()
      this.elapsed = next.at
      next.run()
      this.#agree()
      check?.()
    }
    this.elapsed = end
  }

  /** Each side knows exactly the connections that it has, the cell no key that is revoked, and no name twice. */
  #agree(): void {
    this.wires = this.wires.filter(({ cellEnd, outpostEnd }) => outpostEnd || cellEnd !== undefined)
    const known = [...this.cell.byName.values()].flat()
    const has = (side: string, one: ReadonlyArray<{ readonly id: number }>, other: ReadonlyArray<number>): void => {
      const [a, b] = [one.map(({ id }) => id), other].map((ids) => ids.toSorted((x, y) => x - y).join())
      if (a !== b) throw new Error(`${side} knows tunnels ${a}, and has ${b}`)
    }
    has(
      "the cell",
      known,
      this.wires.flatMap(({ cellEnd }) => cellEnd?.id ?? [])
    )
    for (const outpost of this.outposts) {
      const own = this.#wiresOf(outpost).flatMap(({ id, outpostEnd }) => (outpostEnd ? id : []))
      has("an outpost", outpost.memory.tunnels, own)
    }
    const used = known.flatMap(({ member, state }) => (state === "Live" ? member.name : []))
    if (new Set(used).size < used.length) throw new Error("two tunnels are used for a name")
    const isOver = ({ member, until }: CellTunnel) => this.revoked.has(member.keyId) || until < start + this.elapsed
    if (known.some(isOver)) throw new Error("the cell has a tunnel that it may not have")
  }

  // The network

  #to(side: Side, wire: Wire, run: () => void): void {
    this.#later(latency, () => {
      if (wire.lost[side] || wire.outpost.isCut) return
      if (side === "cell") {
        const { cellEnd } = wire
        // A host that does not know a connection resets it.
        if (cellEnd === undefined) return this.#to("outpost", wire, () => this.#end("outpost", wire, "reset"))
        this.received.set(cellEnd.id, (this.received.get(cellEnd.id) ?? 0) + 1)
      } else if (!wire.outpostEnd) return
      else wire.outpost.received.set(wire.id, (wire.outpost.received.get(wire.id) ?? 0) + 1)
      run()
    })
  }

  #event(outpost: PlayedOutpost, event: OutpostEvent): void {
    outpost.memory = afterEvent(outpost.memory, event, this.moment())
    this.plan(outpost)
  }

  /** A side hears that the connection is over. */
  #end(side: Side, wire: Wire, why: string): void {
    if (side === "outpost") {
      wire.outpostEnd = false
      this.#event(wire.outpost, { _tag: "Ended", id: wire.id, why })
    } else if (wire.cellEnd !== undefined) {
      this.cell = afterEnded(this.cell, wire.cellEnd, why, this.moment())
      wire.cellEnd = undefined
    }
  }

  /** A side has ended the connection, and the other one hears of it. */
  #close(side: Side, wire: Wire, why: string): void {
    if (side === "outpost") wire.outpostEnd = false
    else wire.cellEnd = undefined
    const other = side === "cell" ? "outpost" : "cell"
    this.#to(other, wire, () => this.#end(other, wire, why))
  }

  // The outposts

  plan(outpost: PlayedOutpost): void {
    const { actions, memory, wakeAt } = outpostPlan(outpost.memory, outpost, this.moment())
    outpost.memory = memory
    for (const action of actions) {
      if (action._tag === "Dial") this.#dial(outpost, action.id)
      const wire = this.#wiresOf(outpost).find(({ id, outpostEnd }) => id === action.id && outpostEnd)
      if (wire === undefined) throw new Error(`${action._tag} of a tunnel that is not there`)
      if (action._tag === "Destroy") this.#close("outpost", wire, "closed")
      if (action._tag === "SendBeat") this.#to("cell", wire, () => this.#answer(wire, action.number))
      if (action._tag === "Renew") this.#to("cell", wire, () => this.#sign(wire))
    }
    const turn = ++outpost.turn
    if (wakeAt !== undefined) this.#later(wakeAt - this.elapsed, () => outpost.turn === turn && this.plan(outpost))
  }

  #dial(outpost: PlayedOutpost, id: number): void {
    const { identity } = outpost
    if (identity === undefined) throw new Error("dialled without an identity")
    const member = { name: identity.name, keyId: identity.id, until: identity.life.until }
    const lost = { cell: false, outpost: false }
    const wire: Wire = { outpost, id, member, outpostEnd: true, cellEnd: undefined, lost }
    this.wires = [...this.wires, wire]
    this.#later(3 * latency, () => {
      if (outpost.isCut || !wire.outpostEnd) return
      if (this.revoked.has(member.keyId)) {
        wire.outpostEnd = false
        return this.#event(outpost, { _tag: "DialFailed", id, reason: "Refused", message: "revoked" })
      }
      const { tunnel, tunnels } = afterAccepted(this.cell, { member, from: outpost.name }, this.moment())
      this.cell = tunnels
      wire.cellEnd = tunnel
      this.look()
      this.#event(outpost, { _tag: "Stands", id })
      this.#to("cell", wire, () => this.#perform(afterHello(this.cell, tunnel, this.moment())))
    })
  }

  // The cell

  look(): void {
    const { wakeAt, ...step } = cellPlan(this.cell, this.received, this.moment())
    this.#perform(step)
    const turn = ++this.#turn
    if (wakeAt !== undefined) this.#later(wakeAt - this.elapsed, () => this.#turn === turn && this.look())
  }

  #perform({ actions, tunnels }: CellStep): void {
    this.cell = tunnels
    for (const action of actions) if (action._tag !== "Report") this.#act(action)
  }

  #act(action: Exclude<CellAction, { readonly _tag: "Report" }>): void {
    const { id } = action
    const wire = this.wires.find(({ cellEnd }) => cellEnd?.id === id)
    if (wire === undefined) throw new Error(`${action._tag} of a tunnel that is not there`)
    const event = (given: OutpostEvent) => this.#to("outpost", wire, () => this.#event(wire.outpost, given))
    if (action._tag === "Welcome") return event({ _tag: "Welcomed", id: wire.id })
    if (action._tag === "Drain") {
      // Its last lane ends soon.
      return this.#later(1_000, () => {
        if (wire.cellEnd === undefined) return
        this.#end("cell", wire, "drained")
        this.#close("cell", wire, "drained")
      })
    }
    if (action._tag === "Refuse") event({ _tag: "Refused", id: wire.id, why: action.why })
    this.#close("cell", wire, action.why)
  }

  #answer(wire: Wire, number: number): void {
    if (!wire.outpost.losesAnswer)
      this.#to("outpost", wire, () => this.#event(wire.outpost, { _tag: "Answered", id: wire.id, number }))
    wire.outpost.losesAnswer = false
  }

  #sign(wire: Wire): void {
    const identity = this.#issue(wire.outpost)
    if (wire.cellEnd !== undefined) this.cell = afterRenewed(this.cell, wire.cellEnd, identity.id)
    this.#to("outpost", wire, () => this.#take(wire.outpost, identity))
  }

  #take(outpost: PlayedOutpost, identity: OutpostIdentity): void {
    outpost.identity = identity
    this.plan(outpost)
  }

  // Faults, and people

  #wiresOf(outpost: PlayedOutpost): ReadonlyArray<Wire> {
    return this.wires.filter((wire) => wire.outpost === outpost)
  }

  /** The connections of now are swallowed for ever, towards one side or both. */
  swallow(outpost: PlayedOutpost, ...sides: ReadonlyArray<Side>): void {
    for (const { lost } of this.#wiresOf(outpost)) for (const side of sides) lost[side] = true
  }

  reset(outpost: PlayedOutpost): void {
    for (const wire of this.#wiresOf(outpost))
      for (const side of ["cell", "outpost"] as const) this.#end(side, wire, "reset")
  }

  /** The member gets another certificate before that is due. */
  renew(outpost: PlayedOutpost): void {
    for (const wire of this.#wiresOf(outpost)) if (wire.cellEnd !== undefined) this.#sign(wire)
  }

  revoke(outpost: PlayedOutpost): void {
    for (const key of outpost.keys) this.revoked.add(key)
    const refusal = ({ keyId }: TunnelMember) => (this.revoked.has(keyId) ? "revoked" : undefined)
    this.#perform(afterRefusals(this.cell, refusal, this.moment()))
  }

  /** The process is another one; the cell hears of the end of the first one, or does not. */
  restart(outpost: PlayedOutpost, isSilent: boolean): void {
    for (const wire of this.#wiresOf(outpost)) {
      wire.lost.cell ||= isSilent
      this.#close("outpost", wire, "closed")
    }
    outpost.received.clear()
    outpost.memory = newOutpost(this.moment())
    this.plan(outpost)
  }

  restartCell(): void {
    this.cell = newCell(start + this.elapsed)
    this.received.clear()
    for (const wire of this.wires.filter(({ cellEnd }) => cellEnd !== undefined))
      this.#close("cell", wire, "the primary's operator ends")
  }

  /** All is well, and a member without a certificate that is good gets one as by `braid join --renew`. */
  heal(): void {
    for (const outpost of this.outposts) {
      const { identity } = outpost
      outpost.isCut = outpost.losesAnswer = false
      // Long enough for a dial that has to wait, which renews it then.
      const isLasting = identity !== undefined && identity.life.until > start + this.elapsed + 60_000
      if (isLasting && !this.revoked.has(identity.id)) continue
      this.revoke(outpost)
      this.#take(outpost, this.#issue(outpost))
    }
  }

  /** Whether this outpost and the cell use the same tunnel. */
  isServed(outpost: PlayedOutpost): boolean {
    const current = currentOf(this.cell, outpost.name)
    const wire = this.#wiresOf(outpost).find(({ cellEnd }) => cellEnd !== undefined && cellEnd.id === current?.id)
    const own = wire?.outpostEnd ? outpost.memory.tunnels.find(({ id }) => id === wire.id) : undefined
    return own?.state === "Live" && whyAway(outpost.memory, outpost, this.moment()) === undefined
  }
}
