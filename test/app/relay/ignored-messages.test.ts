import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "vitest"
import { CurrentRepeatedLines, RepeatedLines } from "../../../src/app/kernel/repeated-lines.ts"
import { serveClient } from "../../../src/app/relay/serve-client.ts"
import { makeSessionLocks } from "../../../src/app/relay/session-locks.ts"
import { lineBurst } from "../../../src/domain/line-allowance.ts"
import { memberName } from "../../../src/domain/relay/member.ts"
import type { FrameHandlers } from "../../../src/ports/frame-channel.ts"
import { it } from "../../support/effect-it.ts"
import { fakeChannel } from "../../support/fake-channel.ts"

const member = memberName("cluster-a")

it.effect("text frames of a client are one line in the log, and messages without sense are few", () => {
  const lines: Array<string> = []
  const logger = Logger.map(Logger.formatStructured, ({ message }) => void lines.push(String(message)))
  return Effect.gen(function* () {
    let handlers: FrameHandlers | undefined
    const client = {
      ...fakeChannel(),
      open: (given: FrameHandlers) => {
        handlers = given
      }
    }
    yield* Effect.forkScoped(
      serveClient({
        router: { members: [member], defaultMember: member, memberKind: "cluster", pingMembersEvery: undefined },
        client,
        connected: new Map([[member, fakeChannel()]]),
        connect: () => Effect.fail({ message: "not now" }),
        locks: makeSessionLocks(),
        isUser: true,
        terminated: Effect.never,
        label: "test"
      }),
      { startImmediately: true }
    )
    yield* TestClock.adjust(0)
    for (let i = 0; i < 10_000; i++) handlers?.ignored("text frame")
    yield* TestClock.adjust(5_000)
    assert.deepStrictEqual(
      lines.filter((line) => line.includes("text frame")),
      ["the client sent a text frame, which is ignored like all others: only binary messages count"]
    )
    for (let i = 0; i < 10_000; i++) handlers?.message(new Uint8Array([251, 255, 255]))
    yield* TestClock.adjust(1_000)
    assert.isBelow(lines.length, lineBurst + 5)
  }).pipe(Effect.provideService(CurrentRepeatedLines, new RepeatedLines()), Effect.provide(Logger.layer([logger])))
})
