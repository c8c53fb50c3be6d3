import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { newSessionObject, splitSessions, storedSession } from "../../../src/domain/queues/stored-session.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { childPlan, type ObservedChild } from "../../../src/domain/sessions/child-plan.ts"
import { noSockets } from "../../../src/domain/sessions/liveness.ts"
import { outlivedMillis } from "../../../src/domain/sessions/lonely-child.ts"
import { childAnnotations } from "../../../src/domain/sessions/names.ts"
import { owner, place, wantedSplit } from "../../support/queue-split.ts"

const seconds = fc.integer({ min: 1, max: 20_000 })
const minute = 60_000
const ended = 1_000_000_000_000

const childOf = (ttl: number, timeout: number) =>
  Result.getOrThrow(
    readResource(mirrordClusterSessions, {
      metadata: {
        name: "mc-1-b",
        annotations: {
          [childAnnotations.sessionTtlSecs]: String(ttl),
          [childAnnotations.remoteSessionTimeoutSecs]: String(timeout)
        }
      },
      spec: { namespace: "shop", owner, multiClusterParentName: "mc-1" }
    })
  )

/** A child that was there when its session ended elsewhere. */
const orphan = (ttl: number, timeout: number, change: Partial<ObservedChild<string>>): ObservedChild<string> => ({
  child: childOf(ttl, timeout),
  createdSeenAt: ended,
  target: { _tag: "Failed", at: ended, failures: 1, failure: { reason: "TargetNotReady", message: "no pod" } },
  agent: { _tag: "None" },
  requirements: [],
  sockets: noSockets,
  heartbeatSeenAt: undefined,
  operatorSince: 0,
  defaults: { sessionTtlSecs: 1, remoteSessionTimeoutSecs: 1 },
  podlessMillis: minute,
  ...change
})
const isOver = (observed: ObservedChild<string>, now: number): boolean =>
  childPlan(observed, now)[0]?._tag === "DeleteChild"

/** A member has noticed after 125 s that its primary is silent, and writes heartbeats for 15 s more. */
const connected = (noticed: number, tail: number) => ({
  sockets: { open: 0, lastClosedAt: ended + noticed },
  heartbeatSeenAt: ended + noticed + tail
})
const histories = fc.oneof(
  fc.record({
    createdSeenAt: fc.integer({ min: ended - minute, max: ended }),
    operatorSince: fc.integer({ min: 0, max: ended })
  }),
  fc.tuple(fc.integer({ min: -minute, max: 125_000 }), fc.nat(15_000)).map((times) => connected(...times))
)

describe("a child that does not hear of its session's end", () => {
  it("is over when no cluster may hold the session's queues any more, and not much earlier", () => {
    fc.assert(
      fc.property(
        seconds,
        seconds,
        histories,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (ttl, timeout, history, part) => {
          const until = ended + outlivedMillis({ sessionTtlSecs: ttl, remoteSessionTimeoutSecs: timeout })
          const alone = orphan(ttl, timeout, history)
          // Its pods go at any time at which it is still there.
          const lives = (now: number): boolean => !isOver(alone, now)
          let since = ended + Math.floor(part * (until - ended))
          while (!lives(since)) since -= 10_000
          const pods = { since, seenAt: since + 2 * minute, cause: undefined, hadPods: true }
          expect(isOver({ ...alone, pods }, until)).toBe(true)
          const latest = [orphan(ttl, timeout, {}), orphan(ttl, timeout, connected(125_000, 15_000))]
          expect(latest.some((one) => !isOver(one, until - 75_001))).toBe(true)
        }
      )
    )
  })

  it("has sent its last message when they are deleted", () => {
    const session = { apiVersion: "v1", kind: "MirrordClusterSession", metadata: childOf(600, 300).metadata }
    const wanted = { ...wantedSplit(place, new Map()), isShared: true }
    const name = "00000000000000ff.consumer.deployment"
    const object = newSessionObject({ name, place, container: "", wanted, owner, session, startedAt: 0 })
    const read = Result.getOrThrow(readResource(splitSessions, object))
    const outlived = outlivedMillis({ sessionTtlSecs: 600, remoteSessionTimeoutSecs: 300 })
    expect(storedSession(read)?.sharedMillis).toBe(outlived + 45_000)
  })
})
