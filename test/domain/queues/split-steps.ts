import fc from "fast-check"
import type { ObservedConfiguration } from "../../../src/domain/queues/observed-split.ts"
import { isWanted } from "../../../src/domain/queues/split-refusal.ts"
import { bills, orders, type SplitWorld, times } from "./split-world.ts"

const configurations: ReadonlyArray<ObservedConfiguration> = [
  { _tag: "Known", digest: "one", sources: [orders, bills], times },
  {
    _tag: "Known",
    digest: "one",
    sources: [orders, bills],
    times: { ...times, ttlMillis: 90_000, waitForPods: "all" }
  },
  { _tag: "Known", digest: "one", sources: [orders, bills], times: { ...times, drainMillis: 0 } },
  { _tag: "Known", digest: "two", sources: [orders], times: { ...times, drainMillis: 50_000 } },
  { _tag: "Refused", code: 404, why: "There is none." },
  { _tag: "Unknown" }
]

const mode = fc.constantFrom("steal" as const, "mirror" as const)

const often = [
  fc.record({ do: fc.constant("start" as const), tag: fc.nat(2), mode, given: fc.nat(7) }),
  fc.record({ do: fc.constantFrom("end" as const, "vanish" as const), which: fc.nat(2), held: fc.nat(90_000) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.oneof(fc.nat(20_000), fc.nat(150_000)) }),
  fc.record({ do: fc.constant("produce" as const), to: fc.constantFrom(orders, bills), tag: fc.nat(3) })
] as const
const rare = [
  fc.record({
    do: fc.constantFrom("crash" as const, "heal" as const, "hurry" as const, "upgrade" as const, "unhook" as const)
  }),
  fc.record({ do: fc.constant("scale" as const), replicas: fc.nat(3) }),
  fc.record({ do: fc.constant("configure" as const), configuration: fc.constantFrom(...configurations) }),
  fc.record({
    do: fc.constantFrom("webhookDown" as const, "podsReady" as const, "consumed" as const),
    isTrue: fc.boolean()
  }),
  fc.record({
    do: fc.constant("deny" as const),
    action: fc.constantFrom("DrainQueue", "CreateQueue", "DeleteQueue", "PutWebhook", "StartForwarding")
  }),
  fc.record({ do: fc.constant("delete" as const) })
] as const

/** Something that happens to a split. */
export const step = fc.oneof(
  ...often.map((arbitrary) => ({ weight: 5, arbitrary })),
  ...rare.map((arbitrary) => ({ weight: 1, arbitrary }))
)
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const startSession = (world: SplitWorld, { given, mode: way, tag }: Step & { readonly do: "start" }): void => {
  // Two of five are of a cluster that is not the default one, which names a queue that is not there, or is.
  if (given === 1) world.given.add(`given-${tag}`)
  const queues =
    given > 1
      ? ({ _tag: "Own" } as const)
      : ({ _tag: "Given", given: [{ id: "orders", original: "other", queue: `given-${tag}` }] } as const)
  const modes = new Map([["orders", given > 1 ? way : "steal"]])
  world.start(tag, { queues, modes })
}

const end = (world: SplitWorld, { held, which, do: way }: Step & { readonly do: "end" | "vanish" }): void => {
  const session = world.sessions[which]
  if (session === undefined) return
  if (held > 60_000 && isWanted(session)) world.heldUntil.set(session.uid, world.now + held)
  if (way === "end") session.isEnding = true
  else world.vanish(session.uid)
}

export const heal = (world: SplitWorld): void => {
  world.denied.clear()
  world.isWebhookDown = false
  world.arePodsReady = true
  world.isConsumed = true
  world.workload ??= { replicas: 1, restartToken: undefined }
  if (world.workload.replicas === 0) world.workload.replicas = 1
}

export const perform = (world: SplitWorld, one: Step): void => {
  switch (one.do) {
    case "start":
      return startSession(world, one)
    case "end":
    case "vanish":
      return end(world, one)
    case "wait":
      return world.advance(one.ms)
    case "produce":
      for (let n = 0; n < 4; n++) world.produce(one.to.identity, one.tag)
      return
    case "crash":
      return world.crash()
    case "upgrade":
      if (world.workload !== undefined) world.workload.restartToken = undefined
      return world.replacePods()
    case "delete":
      world.workload = undefined
      return world.replacePods()
    case "unhook":
      world.webhook = undefined
      return
    case "heal":
      return heal(world)
    case "hurry":
      if (world.record !== undefined) world.record = { ...world.record, endsNow: true }
      return
    case "scale":
      if (world.workload !== undefined) world.workload.replicas = one.replicas
      return
    case "configure":
      world.configuration = one.configuration
      return
    case "webhookDown":
      world.isWebhookDown = one.isTrue
      return
    case "podsReady":
      world.arePodsReady = one.isTrue
      return
    case "consumed":
      world.isConsumed = one.isTrue
      return
    case "deny":
      world.denied.add(one.action)
  }
}
