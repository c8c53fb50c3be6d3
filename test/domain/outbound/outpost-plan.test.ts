import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { renewalAt, tunnelLife } from "../../../src/domain/outbound/certificate-plan.ts"
import {
  afterEvent,
  newOutpost,
  type OutpostEvent,
  type OutpostIdentity,
  outpostPlan,
  whyAway
} from "../../../src/domain/outbound/outpost-plan.ts"

const start = Date.UTC(2026, 0, 1)
const hour = 3_600
const identityOf = (id: string, hours = 1): OutpostIdentity => ({
  id,
  name: clusterName("b"),
  life: tunnelLife(start, hours)
})

/** An outpost whose clocks go on by its own wishes alone. Times are seconds. */
class Driven {
  at = 0
  share = 0.5
  identity: OutpostIdentity | undefined = identityOf("one")
  readonly received = new Map<number, number>()
  memory = newOutpost(this.moment)

  get moment() {
    return { elapsed: this.at * 1_000, now: start + this.at * 1_000, share: this.share }
  }

  event(event: OutpostEvent): this {
    this.memory = afterEvent(this.memory, event, this.moment)
    return this
  }

  /** Plans until that time: each action with its time. Tunnels of `answering` are heard, and answer beats at once. */
  until(end: number, answering: ReadonlyArray<number> = []): ReadonlyArray<string> {
    const done: Array<string> = []
    for (let next = this.at; next <= end;) {
      this.at = next
      for (const id of answering) this.received.set(id, (this.received.get(id) ?? 0) + 1)
      const { actions, memory, wakeAt = Infinity } = outpostPlan(this.memory, this, this.moment)
      expect(wakeAt).toBeGreaterThan(next * 1_000)
      expect(outpostPlan(memory, this, this.moment)).toMatchObject({ actions: [], memory })
      this.memory = memory
      for (const action of actions) {
        const isAnswered = answering.includes(action.id) && action._tag === "SendBeat"
        if (isAnswered) this.event({ _tag: "Answered", id: action.id, number: action.number })
        else done.push(`${this.at} ${Object.values(action).join(" ")}`)
      }
      next = wakeAt / 1_000
    }
    this.at = end
    return done
  }

  /** A dialled tunnel gets live at once. */
  welcome(id: number): this {
    return this.event({ _tag: "Stands", id }).event({ _tag: "Welcomed", id })
  }

  get away() {
    return whyAway(this.memory, this, this.moment)
  }
}

/** An outpost whose first tunnel was dialled at 2.5 s, and is live and calm. */
const live = (): Driven => {
  const outpost = new Driven()
  expect(outpost.until(3)).toEqual(["2.5 Dial 1"])
  outpost.welcome(1)
  expect(outpost.until(100, [1])).toEqual([])
  return outpost
}

const unreachable = (id: number) => ({ _tag: "DialFailed", id, reason: "Unreachable", message: "no route" }) as const

describe("an outpost that dials", () => {
  it("pauses longer after each failure, and spreads the pauses", () => {
    const times = [0, 1].map((share) => {
      const outpost = new Driven()
      outpost.share = share
      outpost.memory = newOutpost(outpost.moment)
      return [1, 2, 3, 4, 5, 6].map((id) => {
        const pause = outpost.memory.retry.notBefore / 1_000 - outpost.at
        expect(outpost.until(outpost.at + pause)).toEqual([`${outpost.at} Dial ${id}`])
        outpost.event(unreachable(id))
        return pause
      })
    })
    expect(times).toEqual([
      [0, 5, 10, 15, 15, 15],
      [5, 10, 20, 30, 30, 30]
    ])
  })

  it("has ten seconds for the connection, and ten for the welcome", () => {
    const outpost = new Driven()
    expect(outpost.until(13)).toEqual(["2.5 Dial 1", "12.5 Destroy 1 it did not stand after 10s"])
    expect(outpost.until(21)).toEqual(["20 Dial 2"])
    outpost.event({ _tag: "Stands", id: 2 })
    expect(outpost.until(32)).toEqual(["31 Destroy 2 it was not greeted by the other side after 10s"])
    expect(outpost.away).toBe("the tunnel to the primary's cell failed: it was not greeted by the other side after 10s")
  })

  it.each<readonly [string, OutpostEvent, string]>([
    ["refused at the dial", { _tag: "DialFailed", id: 1, reason: "Refused", message: "revoked" }, "revoked"],
    ["answered by a stranger", { _tag: "DialFailed", id: 1, reason: "Untrusted", message: "a proxy" }, "a proxy"],
    ["refused after its hello", { _tag: "Refused", id: 1, why: "another key" }, "another key"]
  ])("tries again slowly when it is %s, and keeps the reason", (_, event, why) => {
    const outpost = new Driven()
    outpost.until(3)
    outpost.event(event)
    if (event._tag === "Refused") expect(outpost.until(3)).toEqual(["3 Destroy 1 the cell refuses it: another key"])
    expect(outpost.until(26)).toEqual(["25.5 Dial 2"])
    expect(outpost.away).toBe(why)
    outpost.welcome(2)
    expect([outpost.away, outpost.memory.problem]).toEqual([undefined, undefined])
    outpost.event({ _tag: "Refused", id: 2, why }).event({ _tag: "Ended", id: 2, why: "closed" })
    expect(outpost.away).toBe(why)
    expect(outpost.until(49)).toEqual(["48.5 Dial 3"])
  })

  it("waits for a certificate, and for another one when its own has ended", () => {
    const outpost = new Driven()
    outpost.identity = undefined
    expect(outpost.until(hour)).toEqual([])
    expect(outpost.away).toBe("this operator has no certificate for a tunnel to its primary yet")
    outpost.identity = identityOf("old", 1)
    expect(outpost.until(hour + 300)).toEqual([])
    expect(outpost.away).toMatch(/^the certificate of cluster b .* run `braid join b --renew --cell HOST:PORT --apply`/)
    expect(outpostPlan(outpost.memory, outpost, outpost.moment).wakeAt).toBe((hour + 330) * 1_000)
    outpost.identity = identityOf("new", 2)
    expect(outpost.until(hour + 303)).toEqual([`${hour + 302.5} Dial 1`])
  })
})

describe("a live tunnel", () => {
  it("has a beat every ten seconds, and is given up when nothing is heard for 90", () => {
    const outpost = live()
    expect(outpost.until(116)).toEqual(["103 SendBeat 1 10", "108 Dial 2", "113 SendBeat 1 11"])
    // The second one is dialled in vain, and no pause before it is longer than 30 s.
    outpost.event(unreachable(2))
    expect(outpost.until(119)).toEqual(["118.5 Dial 3"])
    outpost.event({ _tag: "Stands", id: 3 })
    const later = outpost.until(183.5)
    expect(later.filter((action) => action.includes("Destroy 1"))).toEqual([
      "183 Destroy 1 nothing was heard of the other side for 1m30s"
    ])
    expect(outpost.away).toMatch(/^the tunnel to the primary's cell failed: it /)
  })

  it.each([
    ["five minutes later", [1, 2], "410 Destroy 1 it still had lanes, although another has replaced it, after 5m"],
    ["when it is silent for 30 s", [2], "140 Destroy 1 nothing was heard of the other side for 30s"]
  ])("is drained when the one beside it is live, and destroyed %s", (_, heard, end) => {
    const outpost = live()
    outpost.until(109)
    expect(outpost.until(110)).toEqual([])
    outpost.welcome(2)
    expect(outpost.until(113, [1, 2])).toEqual(["110 Drain 1"])
    expect(outpost.until(411, heard).filter((action) => !action.includes("SendBeat"))).toEqual([end])
  })

  it.each([
    [false, ["109 Destroy 2 the tunnel beside it answers again"]],
    // The cell may have drained the first one already.
    [true, []]
  ])("that answers again ends the dial beside it, unless that is being greeted (%s)", (isGreeted, actions) => {
    const outpost = live()
    outpost.until(109)
    if (isGreeted) outpost.event({ _tag: "Stands", id: 2 })
    outpost.event({ _tag: "Answered", id: 1, number: 10 })
    expect(outpost.until(112, [1])).toEqual(actions)
    if (isGreeted) expect(outpost.event({ _tag: "Welcomed", id: 2 }).until(112, [1, 2])).toEqual(["112 Drain 1"])
  })

  it("stays suspect while an earlier beat is not answered, and takes no answer to a beat that it has not sent", () => {
    const outpost = live()
    outpost.until(114)
    outpost.event(unreachable(2)).event({ _tag: "Answered", id: 1, number: 99 })
    expect(outpost.until(118)).toEqual(["116.5 Dial 3"])
    outpost.event({ _tag: "Answered", id: 1, number: 10 })
    expect(outpost.until(118.5)).toEqual([])
    outpost.event({ _tag: "Answered", id: 1, number: 11 }).event({ _tag: "Answered", id: 1, number: 10 })
    expect(outpost.until(119)).toEqual(["118.5 Destroy 3 the tunnel beside it answers again"])
  })

  it("that ends is dialled again within five seconds when it was calm, and later when it was not", () => {
    const outpost = live()
    outpost.event({ _tag: "Ended", id: 1, why: "reset" })
    expect(outpost.away).toBe("reset")
    expect(outpost.until(103)).toEqual(["102.5 Dial 2"])
    outpost.welcome(2).event({ _tag: "Ended", id: 2, why: "reset" }).event({ _tag: "Ended", id: 2, why: "again" })
    expect(outpost.until(112)).toEqual(["110.5 Dial 3"])
    outpost.welcome(3)
    expect(outpost.until(150, [3])).toEqual([])
    expect(outpost.event({ _tag: "Ended", id: 3, why: "reset" }).until(170)).toEqual(["165 Dial 4"])
  })

  it("makes the operator ready only while it answers", () => {
    const outpost = live()
    outpost.event({ _tag: "Welcomed", id: 1 })
    const until = (end: number) => {
      while (outpost.at < end) {
        outpost.received.set(1, outpost.at)
        outpost.until(outpost.at + 5)
      }
      return outpost.away
    }
    expect(until(180)).toBeUndefined()
    expect(until(185)).toMatch(/did not stand/)
  })
})

describe("a certificate", () => {
  it("is asked for on the live tunnel when that is due, again after a minute, and at once on another tunnel", () => {
    const outpost = live()
    const due = (renewalAt(identityOf("one").life, 0.5) - start) / 1_000
    expect(outpost.until(due + 100, [1])).toEqual([`${due} Renew 1`, `${due + 60} Renew 1`])
    outpost.event({ _tag: "Ended", id: 1, why: "reset" })
    expect(outpost.until(due + 103)).toEqual([`${due + 102.5} Dial 2`])
    expect(outpost.welcome(2).until(due + 104)).toEqual([`${due + 103} Renew 2`])
  })

  it("that is new is used by a new tunnel, and the old one is drained after that", () => {
    const outpost = live()
    outpost.identity = identityOf("two", 48)
    expect(outpost.until(110, [1])).toEqual(["102.5 Dial 2"])
    outpost.identity = identityOf("three", 72)
    expect(outpost.until(113, [1])).toEqual(["110 Destroy 2 this operator has another certificate now", "112.5 Dial 3"])
    expect(outpost.away).toBeUndefined()
    expect(outpost.welcome(3).until(114, [1, 3])).toEqual(["113 Drain 1"])
    const { retry } = afterEvent(outpost.memory, { _tag: "Refused", id: 1, why: "older key" }, outpost.moment)
    expect(retry).toEqual(outpost.memory.retry)
    outpost.event({ _tag: "Ended", id: 1, why: "no lanes" }).event({ _tag: "Ended", id: 3, why: "reset" })
    expect(outpost.until(122)).toEqual(["116.5 Dial 4"])
  })

  it("that the cell refuses is asked for again on the tunnel that it was to replace", () => {
    const outpost = live()
    outpost.identity = identityOf("two", 48)
    expect(outpost.until(103, [1])).toEqual(["102.5 Dial 2"])
    outpost.event({ _tag: "DialFailed", id: 2, reason: "Refused", message: "not admitted" })
    expect(outpost.until(104, [1])).toEqual(["103 Renew 1"])
    outpost.identity = identityOf("three", 72)
    expect(outpost.until(107, [1])).toEqual(["106.5 Dial 3"])
  })

  it("that ends, or is taken away, ends its tunnels", () => {
    const outpost = live()
    const ended = outpost.until(hour + 1, [1]).filter((action) => !action.includes("Renew"))
    expect(ended).toEqual([`${hour} Destroy 1 the certificate that it was opened with ended at 2026-01-01 01:00 UTC`])
    const other = live()
    other.identity = undefined
    expect(other.until(101)).toEqual(["100 Destroy 1 this operator has no certificate any more"])
  })
})
