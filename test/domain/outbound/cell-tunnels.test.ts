import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import {
  afterAccepted,
  afterEnded,
  afterHello,
  afterRefusals,
  afterRenewed,
  type CellAction,
  cellPlan,
  type CellStep,
  currentOf,
  newCell,
  type TunnelRef,
  whyUnusable
} from "../../../src/domain/outbound/cell-tunnels.ts"

const start = Date.UTC(2026, 0, 1)
const day = 86_400
const b = clusterName("b")
const cure =
  "; look at the log of the operator in that cluster, and whether the address of this primary's cell can be reached " +
  "from there."

/** A cell; times are seconds. */
class Driven {
  at = 0
  cell = newCell(start)
  readonly received = new Map<number, number>()

  get moment() {
    return { elapsed: this.at * 1_000, now: start + this.at * 1_000 }
  }

  step({ actions, tunnels }: CellStep): ReadonlyArray<CellAction> {
    this.cell = tunnels
    return actions
  }

  accept(keyId: string, name = b): TunnelRef {
    const member = { name, keyId, until: start + day * 1_000 }
    const { tunnel, tunnels } = afterAccepted(this.cell, { member, from: "192.0.2.1" }, this.moment)
    this.cell = tunnels
    return tunnel
  }

  hello(tunnel: TunnelRef): ReadonlyArray<CellAction> {
    return this.step(afterHello(this.cell, tunnel, this.moment))
  }

  /** A tunnel that is welcomed. */
  live(keyId: string, name = b): TunnelRef {
    const tunnel = this.accept(keyId, name)
    expect(this.hello(tunnel)[0]).toEqual({ _tag: "Welcome", id: tunnel.id })
    return tunnel
  }

  /** Looks until that time; these tunnels are heard. */
  until(end: number, heard: ReadonlyArray<number> = []): ReadonlyArray<string> {
    const done: Array<string> = []
    for (;;) {
      for (const id of heard) this.received.set(id, (this.received.get(id) ?? 0) + 1)
      const { wakeAt, ...step } = cellPlan(this.cell, this.received, this.moment)
      for (const action of this.step(step)) done.push(`${this.at} ${Object.values(action).join(" ")}`)
      if (wakeAt === undefined || wakeAt > end * 1_000) {
        this.at = end
        return done
      }
      this.at = wakeAt / 1_000
    }
  }

  get current() {
    return currentOf(this.cell, b)?.id
  }

  /** Since when the current one is used. */
  get since() {
    return ((currentOf(this.cell, b)?.liveAt ?? NaN) - start) / 1_000
  }

  get why() {
    return whyUnusable(this.cell, b, this.moment)
  }
}

describe("the tunnels of a cell", () => {
  it("are used from their hello on; the newest one of a key replaces the one before", () => {
    const cell = new Driven()
    const first = cell.accept("k")
    expect(cell.current).toBeUndefined()
    expect(cell.hello(first)).toEqual([{ _tag: "Welcome", id: 1 }])
    expect(cell.hello(first)).toEqual([])
    cell.until(7, [1])
    const second = cell.accept("k")
    cell.live("c", clusterName("c"))
    expect([cell.current, cell.since]).toEqual([1, 0])
    cell.until(9, [1])
    expect(cell.hello(second)).toEqual([
      { _tag: "Welcome", id: 2 },
      { _tag: "Drain", id: 1 }
    ])
    expect([cell.current, cell.since]).toEqual([2, 9])
    // The end of the first one comes late, and twice.
    for (const why of ["drained", "again"]) cell.step(afterEnded(cell.cell, first, why, cell.moment))
    expect([cell.current, cell.why]).toEqual([2, undefined])
    expect(cell.hello(first)).toEqual([])
    expect(currentOf(cell.cell, clusterName("c"))?.id).toBe(3)
  })

  it("are not those of another key while one is alive, and both sides hear of it", () => {
    const cell = new Driven()
    cell.live("k")
    cell.until(70, [1])
    const [refused, report] = cell.hello(cell.accept("other"))
    expect(refused).toMatchObject({
      _tag: "Refuse",
      id: 2,
      why: expect.stringMatching(/^Cluster "b" has a tunnel with another key, from "192.0.2.1", for 1m10s: two /)
    })
    expect(report).toMatchObject({
      _tag: "Report",
      name: "b",
      why: expect.stringMatching(
        /^An operator that dialled from "192.0.2.1" with another key was refused as cluster "b"/
      )
    })
    expect([cell.current, cell.why, cell.cell.byName.get(b)?.length]).toEqual([1, undefined, 1])
    // Silent since 65 s at the latest.
    cell.until(109)
    expect(cell.hello(cell.accept("other"))[0]).toMatchObject({ _tag: "Refuse" })
    cell.until(110)
    const taken = cell.hello(cell.accept("other"))
    expect(taken).toMatchObject([
      { _tag: "Welcome", id: 4 },
      { _tag: "Refuse", id: 1 }
    ])
    expect([cell.current, cell.cell.byName.get(b)?.length]).toEqual([4, 1])
  })

  it("of a member know the keys that it got on them, and its older ones", () => {
    const cell = new Driven()
    const first = cell.live("k")
    for (const key of ["k2", "k3", "k4", "k5", "k6"]) cell.cell = afterRenewed(cell.cell, first, key)
    expect(cell.hello(cell.accept("k2"))[0]).toMatchObject({ _tag: "Refuse" })
    const second = cell.live("k6")
    expect(cell.current).toBe(second.id)
    // The older key is shut out from then on, and what goes on with it is not.
    const refusing = (...keys: ReadonlyArray<string>) =>
      afterRefusals(cell.cell, ({ keyId }) => (keys.includes(keyId) ? "Gone." : undefined), cell.moment).actions
    expect(refusing("k")).toEqual([])
    const late = cell.accept("k")
    expect(refusing("k")).toMatchObject([{ id: late.id }])
    cell.step(afterEnded(cell.cell, late, "late", cell.moment))
    expect(refusing("k6").map((action) => "id" in action && action.id)).toEqual([first.id, second.id])
    // It has started again without having kept its new certificate.
    expect(cell.live("k")).toMatchObject({ id: cell.current })
    cell.cell = afterRenewed(cell.cell, { ...first, id: 99 }, "stranger")
    expect(cell.hello(cell.accept("stranger"))[0]).toMatchObject({ _tag: "Refuse" })
    const stopped = cell.cell
    expect(afterRenewed(newCell(start), first, "k2")).toEqual(newCell(start))
    expect(afterEnded(stopped, { ...first, id: 99 }, "late", cell.moment).tunnels).toEqual(stopped)
  })

  it("are refused at once when a member leaves", () => {
    const cell = new Driven()
    cell.live("c", clusterName("c"))
    cell.live("k")
    cell.live("k")
    cell.accept("k")
    const refusal = ({ name }: { readonly name: string }) => (name === "b" ? "Cluster b has left." : undefined)
    const refused = [2, 3, 4].map((id) => ({ _tag: "Refuse", id, why: "Cluster b has left." }))
    expect(cell.step(afterRefusals(cell.cell, refusal, cell.moment))).toEqual(refused)
    expect([...cell.cell.byName.keys()]).toEqual(["c"])
    expect(cell.why).toBe(
      `Cluster "b" has not dialled since its tunnel ended at 2026-01-01 00:00 UTC (Cluster b has left)${cure}`
    )
  })

  it("are suspect after 45 s without a byte, and destroyed after 90", () => {
    const cell = new Driven()
    cell.live("k")
    cell.until(20, [1])
    expect(cell.until(59)).toEqual([])
    expect(cell.why).toBeUndefined()
    cell.until(60)
    expect([cell.why, cell.current]).toEqual([
      `Nothing has come from cluster "b" for 45s, although its tunnel stands${cure}`,
      1
    ])
    expect(cell.until(200)).toEqual(["105 Destroy 1 nothing was heard of the other side for 1m30s"])
    expect(cell.why).toBe(
      'Cluster "b" has not dialled since its tunnel ended at 2026-01-01 00:01 UTC (nothing was heard of the other ' +
        `side for 1m30s)${cure}`
    )
    expect(cellPlan(cell.cell, cell.received, cell.moment).wakeAt).toBeUndefined()
  })

  it("end with their certificate, without a hello, and once replaced after five minutes or 30 s of silence", () => {
    const cell = new Driven()
    expect(cell.why).toBe(
      `Cluster "b" has not dialled since this operator began to listen at 2026-01-01 00:00 UTC${cure}`
    )
    cell.accept("k")
    expect(cell.until(11)).toEqual(["10 Destroy 1 it was not greeted by the other side after 10s"])
    expect(cell.why).toContain("2026-01-01 00:00 UTC (it was not greeted")
    cell.live("k")
    cell.live("k")
    expect(cell.until(312, [2, 3])).toEqual([
      "311 Destroy 2 it still had lanes, although another has replaced it, after 5m"
    ])
    cell.live("k")
    expect(cell.until(350, [4])).toEqual(["336 Destroy 3 nothing was heard of the other side for 30s"])
    expect(cell.until(day, [4])).toEqual([
      "86400 Destroy 4 the certificate that it was opened with ended at 2026-01-02 00:00 UTC"
    ])
  })

  it("that are drained say nothing of why there is none", () => {
    const cell = new Driven()
    const [first, second] = [cell.live("k"), cell.live("k")]
    cell.step(afterEnded(cell.cell, second, "reset.", cell.moment))
    cell.at = 60
    cell.step(afterEnded(cell.cell, first, "drained", cell.moment))
    expect(cell.why).toContain("2026-01-01 00:00 UTC (reset);")
  })

  it("that end three times in a row after the same time are limited by the way, which is told once", () => {
    const cell = new Driven()
    /** Reports about tunnels that last so long, s, and end. */
    const told = (...times: ReadonlyArray<number>) =>
      times.map((time) => {
        const tunnel = cell.live("k")
        cell.at += time
        return cell.step(afterEnded(cell.cell, tunnel, "reset", cell.moment)).length
      })
    expect(told(300, 60, 61.5, 300, 60, 60)).toEqual([0, 0, 0, 0, 0, 0])
    const greeted = cell.accept("k")
    cell.step(afterEnded(cell.cell, greeted, "reset", cell.moment))
    const third = cell.live("k")
    cell.at += 61
    const [report] = cell.step(afterEnded(cell.cell, third, "reset", cell.moment))
    const why = "each of the last 3 tunnels ended after 1m1s: a proxy or load balancer on the way limits connections"
    expect(report).toMatchObject({ _tag: "Report", name: b, reason: "TunnelLimited" })
    expect([report?._tag === "Report" && report.why, cell.why].every((text) => String(text).includes(why))).toBe(true)
    expect(told(60, 60)).toEqual([0, 0])
    // Tunnels that this cell ends say nothing of the way, nor do those that end at once.
    cell.until(cell.at + 1)
    expect(told(1, 1, 1)).toEqual([0, 0, 0])
    expect(cell.why).not.toContain("limits")
  })
})
