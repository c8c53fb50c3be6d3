import * as Result from "effect/Result"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ClusterAuth } from "../../../../src/domain/fleet/credentials/cluster-auth.ts"
import {
  afterFailure,
  afterGrant,
  afterKeeping,
  afterMaking,
  afterRefusal,
  afterUse,
  type CredentialAction,
  type CredentialMemory,
  type CredentialObservation,
  credentialPlan,
  newMemory
} from "../../../../src/domain/fleet/credentials/credential-plan.ts"
import { type CredentialReading, memberToken } from "../../../../src/domain/fleet/credentials/member-credentials.ts"
import { bearer, certificates, hour, tokenOf, tokens } from "./credential-samples.ts"

const eks = { _tag: "Eks", region: "eu-north-1" } as const
const seen = (reading: CredentialReading | undefined, now: number, more: object = {}): CredentialObservation => ({
  now,
  share: 0.5,
  auth: reading?.auth ?? { _tag: "BearerToken" },
  reading,
  answeredAt: undefined,
  renews: true,
  ...more
})
/** The world after an action that succeeds. */
interface World {
  readonly memory: CredentialMemory
  readonly observed: CredentialObservation
}

const carriedOut = ({ memory, observed }: World, action: CredentialAction): World => {
  const { now, reading, share } = observed
  switch (action._tag) {
    case "Use":
      return { memory: afterUse(memory, Result.succeed(action.credentials)), observed }
    case "Disengage":
      return { memory: afterUse(memory, Result.fail(action.why)), observed }
    case "Keep": {
      const kept = reading && { ...reading, kept: action.token, hasKeptSecret: true }
      return { memory: afterKeeping(memory, action.token, now), observed: { ...observed, reading: kept } }
    }
    case "Renew": {
      const token = memberToken(tokenOf(now, now + action.renewal.expirationSeconds * 1_000), now)
      const granted = afterGrant(memory, token, observed)
      const failed = () => afterFailure(memory, "renewing", observed)
      return { memory: Result.getOrElse(granted, failed), observed }
    }
    case "Make": {
      const made = Result.succeed({
        credentials: bearer(tokenOf(now, now + hour, JSON.stringify(action.auth))),
        until: now + hour
      })
      return { memory: afterMaking(memory, { auth: action.auth, begunAt: now, endedAt: now, made, share }), observed }
    }
    case "ReportSpoilt":
    case "ReportOlder":
    case "ReportRefused":
    case "ReportEnd":
      return { memory, observed }
  }
}

/** One plan, and the world after all of its actions. */
const turn = (world: World): { readonly acts: ReadonlyArray<string>; readonly world: World } => {
  const { actions, memory } = credentialPlan(world.memory, world.observed)
  return { acts: actions.map(({ _tag }) => _tag), world: actions.reduce(carriedOut, { ...world, memory }) }
}

/** Plans until there is nothing to do. */
const settle = (start: World): { readonly acts: ReadonlyArray<string>; readonly world: World } => {
  let acts: ReadonlyArray<string> = []
  let world = start
  for (;;) {
    const next = turn(world)
    if (next.acts.length === 0) return { acts, world }
    acts = [...acts, ...next.acts]
    expect(acts.length, `it goes on for ever: ${acts.join()}`).toBeLessThan(12)
    world = next.world
  }
}

/** Carries out what is seen one after the other; the last acts. */
const follow = (...all: ReadonlyArray<CredentialObservation>) => {
  let memory = newMemory(0.5, all[0]?.now ?? 0)
  let acts: ReadonlyArray<string> = []
  for (const observed of all) {
    const settled = settle({ memory, observed })
    memory = settled.world.memory
    acts = settled.acts
  }
  return { acts, memory }
}

const start = 100 * hour
const token = tokenOf(start, start + 10 * hour)
const anyToken = fc
  .record({
    issued: fc.integer({ min: -20, max: 2 }),
    life: fc.integer({ min: 1, max: 20 }),
    account: fc.constantFrom("envoy", "other")
  })
  .map(({ account, issued, life }) => tokenOf(start + issued * hour, start + (issued + life) * hour, account))
const anyReading: fc.Arbitrary<CredentialReading | undefined> = fc.oneof(
  fc.constant(undefined),
  fc
    .tuple(fc.oneof(anyToken, fc.constant("gone")), fc.option(anyToken, { nil: undefined }))
    .map(([given, kept]) => tokens(given, kept)),
  fc
    .tuple(fc.constantFrom("one", "two", "cannot be used"), fc.integer({ min: -1, max: 900 }))
    .map(([given, hours]) => certificates(given, start + hours * hour))
)
const anyObservation: fc.Arbitrary<CredentialObservation> = fc
  .record({
    reading: anyReading,
    after: fc.integer({ min: 0, max: 30 }),
    renews: fc.boolean(),
    answered: fc.boolean(),
    made: fc.option(fc.constantFrom<ClusterAuth>(eks, { ...eks, region: "eu-west-1" }), { nil: undefined })
  })
  .map(({ after, answered, made, reading, renews }) =>
    seen(made === undefined ? reading : undefined, start + after * hour, {
      renews,
      answeredAt: answered ? start + after * hour - 1 : undefined,
      ...(made && { auth: made })
    })
  )
/** Times go on, and in between members refuse. */
const anyStory = fc
  .array(fc.tuple(anyObservation, fc.boolean()), { minLength: 1, maxLength: 6 })
  .map((story) => story.toSorted(([one], [other]) => one.now - other.now))

describe("the plan of a member's credentials", () => {
  it("is the same for the same observation, and once it was carried out there is nothing to do", () => {
    fc.assert(
      fc.property(anyStory, (story) => {
        let memory = newMemory(0.5, start)
        for (const [observed, isRefused] of story) {
          if (isRefused) memory = afterRefusal(memory, observed.auth)
          expect(credentialPlan(memory, observed)).toEqual(credentialPlan(memory, observed))
          const { world } = settle({ memory, observed })
          const { actions, wakeAt } = credentialPlan(world.memory, world.observed)
          expect(actions).toEqual([])
          expect(wakeAt ?? Infinity).toBeGreaterThan(observed.now)
          ;({ memory } = world)
        }
      })
    )
  })

  it("asks for nothing before the Secrets are known", () => {
    expect(credentialPlan(newMemory(0, start), seen(undefined, start))).toMatchObject({
      actions: [],
      wakeAt: undefined
    })
  })

  it("uses a token, renews it in time, and keeps the new one", () => {
    expect(follow(seen(tokens(token), start)).acts).toEqual(["Use"])
    const { acts, memory } = follow(seen(tokens(token), start), seen(tokens(token), start + 8 * hour))
    expect(acts).toEqual(["Renew", "Use", "Keep"])
    expect(memory.granted).toMatchObject({ isKept: true, token: { grantedAt: start + 8 * hour } })
    expect(follow(seen(tokens(token), start), seen(tokens(token), start + 8 * hour, { renews: false })).acts).toEqual(
      []
    )
  })

  it("keeps a token again whose Secret was deleted", () => {
    const kept = tokenOf(start + hour, start + 11 * hour)
    const [there, gone] = [seen(tokens(token, kept), start + hour), seen(tokens(token), start + hour)]
    expect(follow(there, gone).acts).toEqual(["Keep"])
  })

  it("does not keep a token again while the watch has not shown its Secret yet", () => {
    const now = start + 8 * hour
    const { memory } = follow(seen(tokens(token), start), seen(tokens(token), now))
    const actions = (later: number) =>
      credentialPlan(memory, seen(tokens(token), now + later)).actions.map(({ _tag }) => _tag)
    expect([actions(1), actions(299_999), actions(300_000)]).toEqual([[], [], ["Keep"]])
  })

  it("reports another token of the user's that is older than the one in use", () => {
    const kept = tokenOf(start + hour, start + 11 * hour)
    const older = tokenOf(start - hour, start + 9 * hour)
    const now = start + hour
    expect(follow(seen(tokens(token, kept), now), seen(tokens(older, kept), now)).acts).toEqual(["ReportOlder"])
  })

  it("stays with a token that was good, and with a certificate, where the Secret holds something unusable", () => {
    const good = [seen(tokens(token), start), seen(tokens(token), start + 2, { answeredAt: start + 1 })]
    const slip = seen(tokens("unusable"), start + 3, { answeredAt: start + 1 })
    expect(follow(...good, slip).acts).toEqual(["ReportSpoilt"])
    expect(follow(...good, slip, slip).acts).toEqual([])
    expect(follow(seen(tokens(token), start), seen(tokens("unusable"), start + 3)).acts).toEqual(["Disengage"])
    const year = start + 9_000 * hour
    const pair = seen(certificates("one", year), start)
    expect(follow(pair, seen(certificates("cannot be used", year), start)).acts).toEqual(["ReportSpoilt"])
    const emptied = { ...certificates("cannot be used", year), isFilled: false }
    expect(follow(pair, seen(emptied, start)).acts).toEqual(["Disengage"])
  })

  it("tries another token that the member may know, and reports that once", () => {
    const kept = tokenOf(start + hour, start + 11 * hour)
    const observed = seen(tokens(token, kept), start + hour)
    const { memory } = follow(observed)
    const refused = afterRefusal(memory, observed.auth)
    expect(settle({ memory: refused, observed }).acts).toEqual(["ReportRefused", "Use"])
  })

  it("reports each step towards the end of a certificate once", () => {
    const reading = certificates("one", start + 100 * 24 * hour)
    const at = (days: number) => seen(reading, start + days * 24 * hour)
    expect(follow(at(0)).acts).toEqual(["Use"])
    expect(follow(at(0), at(71)).acts).toEqual(["ReportEnd"])
    expect(follow(at(0), at(71), at(72)).acts).toEqual([])
    expect(follow(at(0), at(71), at(94)).acts).toEqual(["ReportEnd"])
  })

  it("makes credentials, those of another configuration at once, and forgets them for a Secret", () => {
    const [one, other] = [eks, { ...eks, region: "eu-west-1" }].map((auth) => seen(undefined, start, { auth }))
    if (one === undefined || other === undefined) throw new Error("there are two")
    expect(follow(one).acts).toEqual(["Make", "Use"])
    expect(follow(one, one).acts).toEqual([])
    expect(follow(one, other).acts).toEqual(["Make", "Use"])
    const { acts, memory } = follow(one, seen(tokens(token), start))
    expect([acts, memory.making.last]).toEqual([["Use"], undefined])
  })

  it("pauses longer after each failure, and uses no granted token that is another account's", () => {
    const observed = seen(tokens(token), start + 8 * hour)
    const { memory } = follow(seen(tokens(token), start))
    expect(turn({ memory, observed }).acts).toEqual(["Renew"])
    const once = afterFailure(memory, "renewing", observed)
    const { actions, wakeAt = 0 } = credentialPlan(once, observed)
    expect([actions, wakeAt > observed.now]).toEqual([[], true])
    expect(credentialPlan(afterFailure(once, "renewing", observed), observed).wakeAt).toBeGreaterThan(wakeAt)
    const foreign = memberToken(tokenOf(observed.now, observed.now + hour, "other"), observed.now)
    expect(Result.isFailure(afterGrant(memory, foreign, observed))).toBe(true)
  })
})
