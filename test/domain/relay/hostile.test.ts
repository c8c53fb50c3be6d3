import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { makeRouter, type RouterInput, step } from "../../../src/domain/relay/router.ts"
import { clientTable, daemonTable } from "../../../src/domain/relay/table.ts"
import { sample } from "./sample.ts"
import { a, b, c, options } from "./scenario.ts"

const valid = (paths: ReadonlyArray<string>, encode: (path: string) => Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc.constantFrom(...paths).map(encode)

/** Valid messages of every kind, whole, cut, lengthened and with one byte changed, and noise. */
const hostile = (messages: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc.oneof(
    { weight: 5, arbitrary: messages },
    fc.tuple(messages, fc.nat(8)).map(([bytes, length]) => bytes.subarray(0, length)),
    fc.tuple(messages, fc.uint8Array({ maxLength: 4 })).map(([bytes, tail]) => Uint8Array.of(...bytes, ...tail)),
    fc.tuple(messages, fc.nat(20), fc.nat(255)).map(([bytes, at, value]) => bytes.with(at % bytes.length, value)),
    fc.uint8Array({ maxLength: 20 })
  )

const fromClient = hostile(
  valid(Object.keys(clientTable), (path) =>
    clientMessage.encode(sample(ClientMessage, path.split(".")) as ClientMessage)
  )
)
const fineMember = valid(
  Object.keys(daemonTable).filter((path) => path !== "Close"),
  (path) => daemonMessage.encode(sample(DaemonMessage, path.split(".")) as DaemonMessage)
)
const fromMember = hostile(fineMember)
const member = fc.constantFrom(b, c)

type Event = (now: number) => RouterInput
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fromClient.map((bytes): Event => (now) => ({ _tag: "FromClient", now, bytes }))
  },
  {
    weight: 6,
    arbitrary: fc.tuple(member, fromMember).map(([name, bytes]): Event => (now) => ({
      _tag: "FromMember",
      now,
      member: name,
      bytes
    }))
  },
  // Mostly fine, as the rest of a story after the default's loss is empty.
  {
    weight: 4,
    arbitrary: fineMember.map((bytes): Event => (now) => ({ _tag: "FromMember", now, member: a, bytes }))
  },
  {
    weight: 1,
    arbitrary: fromMember.map((bytes): Event => (now) => ({ _tag: "FromMember", now, member: a, bytes }))
  },
  {
    weight: 3,
    arbitrary: member.map((name): Event => (now) => ({ _tag: "MemberConnected", now, member: name }))
  },
  member.map((name): Event => (now) => ({ _tag: "MemberLost", now, member: name, reason: "gone" })),
  fc.constant<Event>((now) => ({ _tag: "Tick", now }))
)
const start: ReadonlyArray<readonly [Event, number]> = [a, b, c].map((name) => [
  (now) => ({ _tag: "MemberConnected", now, member: name }),
  0
])
const story = fc.array(fc.tuple(event, fc.nat(3000)), { maxLength: 60 }).map((events) => [...start, ...events])

const frozen = <T>(value: T, seen = new Set<unknown>()): T => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || seen.has(value)) return value
  seen.add(value)
  for (const child of value instanceof Map ? [...value.keys(), ...value.values()] : Object.values(value))
    frozen(child, seen)
  return Object.freeze(value)
}

/** A picture of a state for comparison: maps and sets included. */
const picture = (state: unknown): string =>
  JSON.stringify(state, (_, value: unknown) => {
    if (typeof value === "bigint") return `${value}n`
    return value instanceof Map || value instanceof Set ? [...value] : value
  })

describe("wire.md §10.7: no input of any content", () => {
  it("makes a step throw, schedule in the past, or send anything but whole messages", () => {
    fc.assert(
      fc.property(story, (events) => {
        let state = makeRouter({ ...options, members: [a, b, c], pingMembersEvery: 20_000 })
        let now = 1_000_000
        let client: string | undefined
        for (const [make, wait] of events) {
          now += wait
          const [next, outputs] = step(state, make(now))
          client = next.client.version
          for (const output of outputs) {
            if (output._tag === "WakeAt") expect(output.at).toBeGreaterThan(now)
            if (client !== undefined && !client.startsWith("1.29.")) continue
            // A newer member gets messages that are unknown here.
            if (output._tag === "ToMember" && (next.links.get(output.member)?.version ?? "1.29.0").startsWith("1.29."))
              expect(clientMessage.decode(output.bytes)).toMatchObject({ _tag: "Decoded", used: output.bytes.length })
            if (output._tag === "ToClient")
              expect(daemonMessage.decode(output.bytes)).toMatchObject({ _tag: "Decoded", used: output.bytes.length })
          }
          state = next
        }
      }),
      { numRuns: 1000 }
    )
  })

  it("makes a step change a state that it was given", () => {
    fc.assert(
      fc.property(story, (events) => {
        let state = makeRouter({ ...options, members: [a, b, c] })
        let now = 1_000_000
        for (const [make, wait] of events) {
          now += wait
          const input = make(now)
          const before = picture(frozen({ ...state, ids: undefined, collected: undefined }))
          const [next, outputs] = step(state, input)
          expect(picture({ ...state, ids: undefined, collected: undefined })).toBe(before)
          expect(step(state, input)[1]).toEqual(outputs)
          state = next
        }
      })
    )
  })
})
