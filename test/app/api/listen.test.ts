import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { listenAtOneOf } from "../../../src/app/api/listen.ts"

describe("a server that listens", () => {
  it.live("goes on after a connection that it could not accept, and says so once", () => {
    const lines: Array<string> = []
    const logger = Logger.make(
      ({ fiber, message }) => void lines.push(JSON.stringify([message, fiber.getRef(References.CurrentLogAnnotations)]))
    )
    return Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(Effect.sync(createServer), (one) => Effect.sync(() => one.close()))
      yield* listenAtOneOf(server, { host: "127.0.0.1", port: 0 }, undefined)
      for (let i = 0; i < 2; i++) server.emit("error", { message: "accept EMFILE" })
      yield* Effect.yieldNow
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], "accept EMFILE")
      assert.isTrue(server.listening)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
  })
})
