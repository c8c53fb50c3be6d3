import fc from "fast-check"
import type { ClusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { SessionWorld } from "./session-world.ts"

/** Something that happens to a session or its clusters. */
export const step = fc.oneof(
  fc.record({ do: fc.constant("ready" as const), member: fc.nat(2) }),
  fc.record({ do: fc.constant("unready" as const), member: fc.nat(2) }),
  fc.record({
    do: fc.constant("fail" as const),
    member: fc.nat(2),
    reason: fc.constantFrom("NoSuchTarget" as const, "Forbidden" as const, "Error" as const)
  }),
  fc.record({
    do: fc.constantFrom("cut" as const, "return" as const, "silence" as const, "speak" as const),
    member: fc.nat(2)
  }),
  fc.record({ do: fc.constant("vanish" as const), member: fc.nat(2) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.nat(400_000) }),
  fc.record({
    do: fc.constantFrom("heartbeat" as const, "close" as const, "open" as const, "restart" as const, "delete" as const)
  })
)
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

export const perform = (world: SessionWorld, one: Step, clusters: ReadonlyArray<ClusterName>): void => {
  const name = "member" in one ? clusters[one.member] : undefined
  const member = name === undefined ? undefined : world.member(name)
  switch (one.do) {
    case "ready":
    case "unready":
      if (member?.child !== undefined) Object.assign(member.child, { ready: one.do === "ready", failure: undefined })
      return
    case "fail":
      if (member?.child !== undefined)
        Object.assign(member.child, { ready: false, failure: { reason: one.reason, message: "broken" } })
      return
    case "cut":
    case "return":
      if (member !== undefined) member.reachable = one.do === "return"
      return
    case "silence":
      if (member !== undefined) member.silentSince ??= world.now
      return
    case "speak":
      if (member !== undefined) member.silentSince = undefined
      return
    case "vanish":
      if (member !== undefined) Object.assign(member, { child: undefined, confirmed: false })
      return
    case "wait":
      return world.advance(one.ms)
    case "heartbeat":
      return world.parent === undefined ? undefined : world.heartbeat()
    case "close":
      return world.closeSockets()
    case "open":
      world.sockets = { open: 1, lastClosedAt: undefined }
      return
    case "restart":
      world.leaderSince = world.now
      return
    case "delete":
      return world.parent === undefined ? undefined : world.deleteParent()
  }
}
