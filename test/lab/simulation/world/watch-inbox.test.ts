/** The queue between a watch and its reader. */

import { Cause, Effect, Fiber, Stream } from "effect"
import { assert, describe } from "vitest"
import { WatchInbox } from "../../../../lab/simulation/world/watch-inbox.ts"
import { KubeError, type WatchEvent } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"

const bookmark = (resourceVersion: string): WatchEvent => ({ _tag: "Bookmark", resourceVersion })
const [one, two, three] = [bookmark("1"), bookmark("2"), bookmark("3")]
const gone = new KubeError({ cluster: "c", operation: "watch", reason: "Gone", detail: "too old" })

/** An inbox with its reader, which notes the arrays that it was given. `turn` carries out the tasks that are due. */
const reading = () => {
  const due: Array<() => void> = []
  const inbox = new WatchInbox((run) => void due.push(run))
  const turn = (): void => due.splice(0).forEach((run) => run())
  const heard: Array<ReadonlyArray<WatchEvent>> = []
  const reader = Stream.runForEachArray(inbox.stream, (events) => Effect.sync(() => void heard.push(events)))
  return { heard, inbox, reader, turn }
}

describe("the inbox of a watch", () => {
  it.effect("gives all that came before its reader at once, then how the watch failed", () =>
    Effect.gen(function* () {
      const { heard, inbox, reader } = reading()
      inbox.put(one)
      inbox.put(two)
      inbox.end(Effect.fail(gone))
      assert.strictEqual(yield* Effect.flip(reader), gone)
      assert.deepStrictEqual(heard, [[one, two]])
    })
  )

  it.effect("wakes a reader that waits in a task of its own, and ends at once", () =>
    Effect.gen(function* () {
      const { heard, inbox, reader, turn } = reading()
      const fiber = yield* Effect.forkChild(reader, { startImmediately: true })
      inbox.put(one)
      inbox.put(two)
      assert.deepStrictEqual(heard, [])
      turn()
      assert.deepStrictEqual(heard, [[one, two]])
      inbox.put(three)
      turn()
      assert.deepStrictEqual(heard, [[one, two], [three]])
      inbox.end(Cause.done())
      yield* Fiber.join(fiber)
    })
  )

  it.effect("takes nothing after the end, whose first word counts", () =>
    Effect.gen(function* () {
      const { heard, inbox, reader } = reading()
      inbox.put(one)
      inbox.end(Cause.done())
      inbox.put(three)
      inbox.end(Effect.fail(gone))
      yield* reader
      assert.deepStrictEqual(heard, [[one]])
    })
  )

  it.effect("lets a reader go that is interrupted", () =>
    Effect.gen(function* () {
      const { heard, inbox, reader, turn } = reading()
      const fiber = yield* Effect.forkChild(reader, { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      inbox.put(one)
      turn()
      assert.deepStrictEqual(heard, [])
    })
  )
})
