import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ExchangeStep, exchangeStep } from "../../../src/domain/outbound/authority-exchange.ts"
import { maxLife } from "../../../src/domain/outbound/certificate-plan.ts"

const hour = 3_600_000
const day = 24 * hour
const calm = { until: 3_650 * day, nextSince: undefined, formerSince: undefined, isAsked: false }

interface Member {
  /** The authorities that it trusts, and the one that has signed its certificate, by number. */
  readonly trusts: ReadonlySet<number>
  readonly signedBy: number
  readonly until: number
}

/** A primary whose members are connected now and then, and renew their certificates when they are. */
class PlayedFleet {
  now = 0
  signing = 1
  next: { readonly id: number; readonly since: number } | undefined
  former: { readonly id: number; readonly since: number } | undefined
  isAsked = false
  members: ReadonlyArray<Member>
  readonly steps = new Array<ExchangeStep>()

  constructor(count: number) {
    const member = { trusts: new Set([1]), signedBy: 1, until: maxLife }
    this.members = Array.from({ length: count }, () => member)
  }

  get bundle(): ReadonlySet<number> {
    return new Set([this.signing, this.next?.id ?? this.signing, this.former?.id ?? this.signing])
  }

  readonly #knows = ({ trusts }: Member): boolean => trusts.symmetricDifference(this.bundle).size === 0

  exchange(): void {
    const lives = { until: Infinity, nextSince: this.next?.since, formerSince: this.former?.since }
    const step = exchangeStep({ ...lives, isAsked: this.isAsked }, this.members.every(this.#knows), this.now)
    this.steps.push(step)
    if (step === "Prepare") {
      this.next = { id: this.signing + 1, since: this.now }
      this.isAsked = false
    } else if (step === "Promote") {
      this.former = { id: this.signing, since: this.now }
      this.signing = this.next?.id ?? 0
      this.next = undefined
    } else if (step === "Retire") this.former = undefined
  }

  /** The members that are connected get all that they lack. */
  connect(connected: ReadonlySet<number>): void {
    this.members = this.members.map((member, at) => {
      if (!connected.has(at) || member.until <= this.now) return member
      const isDue = member.until - this.now <= maxLife / 3
      const renewed = isDue ? { signedBy: this.signing, until: this.now + maxLife } : {}
      return { ...member, ...renewed, trusts: this.bundle }
    })
  }

  /** Fails if a certificate that lasts is not one that the other side can verify. */
  check(): void {
    for (const { signedBy, trusts, until } of this.members.filter((member) => member.until > this.now)) {
      expect(this.bundle, `a member's until ${until}`).toContain(signedBy)
      // The former authority has signed the one that signs now.
      const shown = [this.signing, this.former?.id ?? this.signing]
      expect(shown.some((id) => trusts.has(id))).toBe(true)
    }
  }
}

describe("an exchange of the authority for tunnels", () => {
  it("leaves no certificate without its authority on the other side, whoever is away", () => {
    const step = fc.record({
      pause: fc.integer({ min: 1, max: 30 }),
      connected: fc.uniqueArray(fc.nat(2)),
      isAsked: fc.integer({ min: 0, max: 4 }).map((chance) => chance === 0)
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: "max" }), (steps) => {
        const fleet = new PlayedFleet(3)
        for (const { connected, isAsked, pause } of steps) {
          fleet.now += pause * hour
          fleet.isAsked ||= isAsked
          fleet.check()
          fleet.exchange()
          fleet.check()
          fleet.connect(new Set(connected))
        }
        const asked = fleet.steps.filter((taken) => taken !== "Keep")
        expect(asked).toEqual(asked.map((_, at) => (["Prepare", "Promote", "Retire"] as const)[at % 3]))
      })
    )
  })

  it.each<readonly [string, Partial<Parameters<typeof exchangeStep>[0]>, boolean, number, ExchangeStep]>([
    ["nobody asks for one", {}, true, 5 * day, "Keep"],
    ["it is asked for", { isAsked: true }, false, 0, "Prepare"],
    ["the authority lasts for a year", { until: 365 * day }, false, 0, "Prepare"],
    ["it lasts for longer", { until: 365 * day + 1 }, true, 0, "Keep"],
    ["a member has not said that it has the next one", { nextSince: 0 }, false, 3 * day - 1, "Keep"],
    ["each member has said so", { nextSince: 0 }, true, 1, "Promote"],
    ["a member has been away until its certificate ended", { nextSince: 0 }, false, 3 * day, "Promote"],
    ["certificates of the former one last", { formerSince: 0, isAsked: true }, true, 3 * day - 1, "Keep"],
    ["none of them lasts", { formerSince: 0, isAsked: true }, false, 3 * day, "Retire"]
  ])("when %s", (_, lives, isKnown, now, step) => {
    expect(exchangeStep({ ...calm, ...lives }, isKnown, now)).toBe(step)
  })
})
