import { describe } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { metadataReader } from "../../../src/app/queues/object-metadata.ts"
import { StoredObjectError, type StoredObjects } from "../../../src/ports/stored-objects.ts"
import { it } from "../../support/effect-it.ts"

const body = JSON.stringify({
  Records: [{ awsRegion: "eu-north-1", s3: { bucket: { name: "photos" }, object: { key: "a" } } }]
})
const message = { MessageId: "1", ReceiptHandle: "1", Body: body }

/** The lines of the log while an effect runs. */
const logged = (effect: Effect.Effect<unknown>) => {
  const lines: Array<unknown> = []
  const logger = Logger.map(Logger.formatStructured, ({ annotations }) => void lines.push(annotations["problem"]))
  return Effect.as(effect, lines).pipe(Effect.provide(Logger.layer([logger])))
}
const read = (metadata: StoredObjects["Service"]["metadata"]) =>
  metadataReader({ metadata }, { queue: "orders", sns: false })

describe("the metadata of a message's object", () => {
  it.effect("has more time at first, for the SDK and the identity, and then a second", function* () {
    const slow = read(() => Effect.never)
    for (const secs of [8, 1, 1]) {
      const asking = yield* Effect.forkChild(slow(message))
      yield* TestClock.adjust(`${secs} seconds`)
      expect(asking.pollUnsafe()).toBeDefined()
      yield* Fiber.join(asking)
    }
    const third = yield* Effect.forkChild(read(() => Effect.never)(message))
    yield* TestClock.adjust("7999 millis")
    expect(third.pollUnsafe()).toBeUndefined()
  })

  it.effect("is missing with a line that says why, and without where the object is gone", function* () {
    const refusing = (detail: string, isGone: boolean) =>
      read(({ bucket }) => Effect.fail(new StoredObjectError({ bucket, detail, isGone })))
    expect(yield* logged(refusing("S3 answers 403", false)(message))).toEqual([
      "the metadata of an object in the bucket photos cannot be read: S3 answers 403"
    ])
    expect(yield* logged(refusing("S3 answers 404", true)(message))).toEqual([])
  })

  it.effect("is not asked for where the message is about none", function* () {
    const asked = read(() => Effect.die("asked"))
    expect(yield* asked({ ...message, Body: "hello" })).toBeUndefined()
  })
})
