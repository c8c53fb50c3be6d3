/**
 * Lives of members' tokens under virtual time, with every fault that can hit a renewal: whether an operation of a user
 * fails, and how many tokens a primary asks for at once. The stories are made in ../simulation/rotation-story.ts.
 */

import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { renewalsTogether } from "../app/fleet/renewals-together.ts"
import { rotationStory } from "../simulation/rotation-story.ts"
import { runRotations } from "../simulation/run-rotations.ts"
import { maxInASecond } from "../support/most-in-a-second.ts"

/** Worlds of so many members each, for so many virtual hours: a world of all members at once would take hours. */
const whole = { worlds: 10, clusters: 5, hours: 26 }
const short = { worlds: 2, clusters: 5, hours: 3 }
/** Worlds whose members know the primary by tokens of clouds and by client certificates. */
const wholeWithoutAccounts = { worlds: 3, clusters: 6, hours: 8 }
const shortWithoutAccounts = { worlds: 1, clusters: 6, hours: 2 }

const tellFaults = (faults: Readonly<Record<string, number>>): string =>
  Object.entries(faults)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(", ")

/** Members whose first tokens are of the same second, and end together. */
const together = 50

/** Tokens of one hour, that are renewed in peace, or are overdue when the primary comes back. */
const spreadStory = (isRestarted: boolean) => {
  const members = Array.from({ length: together }, (_, i) => `c${i + 1}`)
  return {
    seed: "spread",
    lines: [
      ...members.map((name, i) => `cluster ${name}${i === 0 ? " default" : ""}`),
      ...members.map((name) => `tokens ${name} for 1h`),
      "tick 100m",
      ...(isRestarted ? ["leave operator primary", "tick 30m", "return operator primary", "tick 2m"] : [])
    ]
  }
}

/** Members of a fleet whose tokens are all overdue when its operator starts. */
const overdueMembers = 1_000

/** Lives of other credentials than service accounts' tokens: of ten minutes each, made or replaced by others. */
const withoutAccounts = (isShort: boolean) => {
  const { clusters, hours, worlds } = isShort ? shortWithoutAccounts : wholeWithoutAccounts
  const stories = Array.from({ length: worlds }, (_, i) =>
    rotationStory(`${i + 1}`, { clusters, hours, isWithoutAccounts: true })
  )
  const found = stories.map(({ story }) => runRotations(story))
  const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0)
  const faults: Record<string, number> = {}
  for (const one of found)
    for (const [kind, count] of Object.entries(one.faults)) faults[kind] = (faults[kind] ?? 0) + count
  const failures = found.flatMap(({ failure }) => failure ?? [])
  const virtualHours = sumOf(found.map(({ virtualMs }) => virtualMs)) / worlds / 3_600_000
  const told =
    `${worlds} worlds of ${clusters} members by eks, aks and mtls, ${virtualHours.toFixed(1)} virtual hours each: ` +
    `${sumOf(stories.map(({ operations }) => operations))} operations of users, ${failures.length} failed; faults: ` +
    tellFaults(faults)
  return { told, failures }
}

export const credentials = async function* (isShort: boolean): AsyncGenerator<string> {
  const { clusters, hours, worlds } = isShort ? short : whole
  const start = performance.now()
  const sum = { lifetimes: 0, rotations: 0, refused: 0, operations: 0, virtualMs: 0 }
  const faults: Record<string, number> = {}
  const failures: Array<string> = []
  for (let seed = 1; seed <= worlds; seed++) {
    const { operations, story } = rotationStory(String(seed), { clusters, hours })
    const found = runRotations(story)
    sum.lifetimes += clusters + found.granted
    sum.rotations += found.granted
    sum.refused += found.refused
    sum.operations += operations
    sum.virtualMs += found.virtualMs
    for (const [kind, count] of Object.entries(found.faults)) faults[kind] = (faults[kind] ?? 0) + count
    if (found.failure !== undefined) failures.push(found.failure)
    yield (
      `  world ${seed} of ${worlds} (${clusters} members): ${found.granted} rotations, ${operations} operations, ` +
        `${(found.virtualMs / 3_600_000).toFixed(1)} h${found.failure === undefined ? "" : ", broken"}`
    )
  }
  const seconds = (performance.now() - start) / 1_000
  yield (
    `${worlds} worlds of ${clusters} members, ${(sum.virtualMs / worlds / 3_600_000).toFixed(1)} virtual hours each: ` +
      `${sum.lifetimes} token lifetimes, ${sum.rotations} rotations, ${sum.refused} requests for tokens failed; ` +
      `${sum.operations} operations of users, ${failures.length} failed`
  )
  yield `  ${(sum.virtualMs / 1_000 / seconds).toFixed(0)} × real time; faults: ${tellFaults(faults)}`
  const others = withoutAccounts(isShort)
  failures.push(...others.failures)
  yield others.told
  const [calm, overdue] = [false, true].map((isRestarted) => runRotations(spreadStory(isRestarted)))
  yield (
    `${together} members in one world, whose tokens of 1 h were made in one second: at most ${calm?.peak} requests ` +
      `for tokens in a second; ${overdue?.peak} when all are overdue`
  )
  for (const found of [calm, overdue]) if (found?.failure !== undefined) failures.push(found.failure)
  const { asked, lost } = await Effect.runPromise(
    renewalsTogether(overdueMembers).pipe(Effect.provide([TestClock.layer(), Logger.layer([])]))
  )
  yield (
    `${overdueMembers} members whose tokens are all overdue: ${asked.length} renewed in ` +
      `${((asked.at(-1) ?? 0) / 1_000).toFixed(0)} s, at most ${maxInASecond(asked)} requests for tokens in a ` +
      `second; ${lost.length} members lost`
  )
  if (lost.length > 0) failures.push(`members lost while all tokens are renewed: ${lost.join(", ")}`)
  if (failures.length > 0) throw new Error(failures.join("\n\n"))
}
