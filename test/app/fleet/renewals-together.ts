/** A fleet whose members' tokens are all overdue when its operator starts, under virtual time. */

import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { configurationOf, giveCredentials } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions } from "../sessions/session-fleet.ts"
import { granting, jwt } from "./granting-member.ts"

const minute = 60_000
/** The tokens' time from issue to the operator's start, and from there to their end, in ms. */
const [age, rest] = [55 * minute, 5 * minute]
/** How long the fleet is watched, in s. */
const watched = 120

/** The renewals of a fleet. */
export interface RenewalsTogether {
  /** When each token was asked for, in ms and in order. */
  readonly asked: ReadonlyArray<number>
  /** Members that were not reachable at some time. */
  readonly lost: ReadonlyArray<string>
}

/** Runs a fleet of so many members for two minutes. Needs a TestClock. */
export const renewalsTogether = (count: number) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(day0)
    const names = Array.from({ length: count }, (_, index) => `c${index}`)
    const primary = new MemoryKubeApi("primary")
    const members = new Map(names.map((name) => [name, granting(primary, name)]))
    for (const name of names) giveCredentials(primary, name, jwt(-age, rest))
    const link = () => Effect.die("none")
    const fleet = yield* makeFleet(fleetOptions({ configuration: configurationOf(names) })).pipe(
      Effect.provideService(ClusterConnector, {
        own: { api: primary, link },
        member: ({ name }, credentials) => {
          const textOf = (one: typeof credentials): string =>
            one._tag === "BearerToken" ? Redacted.value(one.token) : ""
          const access = members.get(name)?.accessOf(textOf(credentials))
          return access === undefined
            ? Effect.die(name)
            : Effect.succeed({ api: access.api, link, reauthenticate: (next) => access.become(textOf(next)) })
        }
      })
    )
    const lost = new Set<string>()
    for (let seconds = 0; seconds < watched; seconds++) {
      for (let turn = 0; turn < 8; turn++) yield* Effect.yieldNow
      yield* TestClock.adjust("1 second")
      for (const [name, { reach }] of fleet.clusters) if (!reach().reachable) lost.add(name)
    }
    const asked = [...members.values()].flatMap((member) => member.asked.map(({ at }) => at))
    return { asked: asked.toSorted((one, other) => one - other), lost: [...lost] } satisfies RenewalsTogether
  }).pipe(Effect.scoped)
