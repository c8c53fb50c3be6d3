import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { durations } from "../../../src/app/kernel/metrics.ts"
import { timeReads } from "../../../src/app/relay/added-latency.ts"
import { serveClient } from "../../../src/app/relay/serve-client.ts"
import { makeSessionLocks } from "../../../src/app/relay/session-locks.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { memberName } from "../../../src/domain/relay/member.ts"
import { FakeSocket } from "../../adapters/stream/support/fake-socket.ts"
import { encodeFrame } from "../../adapters/websocket/support/raw-peer.ts"
import { it } from "../../support/effect-it.ts"
import { separately } from "../../support/scrape.ts"
import { turns } from "../../support/turns.ts"

const latency = (from: "client" | "member") =>
  Effect.map(Metric.value(durations("braid_added_latency_seconds", { from })), ({ count, sum }) => ({ count, sum }))

describe("the latency that the operator adds", () => {
  it.effect("is the time from a read until its messages were taken, by their sender", () =>
    Effect.gen(function* () {
      const { client } = yield* timeReads
      const [taken] = Array.from({ length: 16 }, () => client()).flatMap((timed) => timed ?? [])
      yield* TestClock.adjust("250 millis")
      taken?.()
      expect([yield* latency("client"), yield* latency("member")]).toEqual([
        { count: 1, sum: 0.25 },
        { count: 0, sum: 0 }
      ])
    }).pipe(separately)
  )

  it.effect("is measured of one read in 16 of all connections together, and of none that nobody took", () =>
    Effect.gen(function* () {
      const connections = [yield* timeReads, yield* timeReads, yield* timeReads]
      const timed = Array.from({ length: 160 }, (_, at) => connections[at % 3]?.member()).flatMap((one) => one ?? [])
      expect(timed).toHaveLength(10)
      for (const taken of timed.slice(3)) taken()
      expect((yield* latency("member")).count).toBe(7)
    }).pipe(separately)
  )

  it.effect("is measured on the way of a connection, in both directions", () =>
    Effect.gen(function* () {
      const [clientSocket, linkSocket] = [new FakeSocket(), new FakeSocket()]
      const member = memberName("a")
      yield* Effect.forkScoped(
        serveClient({
          router: { members: [member], defaultMember: member, memberKind: "cluster", pingMembersEvery: undefined },
          client: new WebSocketChannel(clientSocket, { isServer: true }),
          connected: new Map([[member, new WebSocketChannel(linkSocket, { isServer: false })]]),
          connect: () => Effect.fail({ message: "not again" }),
          locks: makeSessionLocks(),
          isUser: true,
          terminated: Effect.never,
          label: "test"
        })
      )
      yield* TestClock.adjust(0)
      const push = (socket: FakeSocket, message: Uint8Array, key?: Uint8Array) => {
        socket.push(encodeFrame({ opcode: 2, payload: message }, key))
        return Effect.promise(() => turns(2))
      }
      const key = new Uint8Array([1, 2, 3, 4])
      const version = { _tag: "SwitchProtocolVersion", value: "1.29.0" } as const
      const agreed = { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" } as const
      yield* push(linkSocket, daemonMessage.encode(agreed))
      yield* push(clientSocket, clientMessage.encode(version), key)
      yield* push(linkSocket, daemonMessage.encode(agreed))
      const request = { envVarsFilter: new Set<string>(), envVarsSelect: new Set(["*"]) }
      const answer = { _tag: "Ok", value: new Map([["A", "b"]]) } as const
      for (let i = 0; i < 40; i++) {
        yield* push(clientSocket, clientMessage.encode({ _tag: "GetEnvVarsRequest", value: request }), key)
        yield* push(linkSocket, daemonMessage.encode({ _tag: "GetEnvVarsResponse", value: answer }))
      }
      for (const from of ["client", "member"] as const) expect((yield* latency(from)).count, from).toBe(2)
    }).pipe(separately)
  )
})
