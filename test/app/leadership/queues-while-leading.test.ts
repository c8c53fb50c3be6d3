import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { LeaseTerm } from "../../../src/app/kernel/term.ts"
import { queuesWhileLeading } from "../../../src/app/leadership/queues-while-leading.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import type { MessageQueues } from "../../../src/ports/message-queues.ts"
import { it } from "../../support/effect-it.ts"

describe("the queues of a leader", () => {
  it.effect(
    "take no change after the term, not even one that was asked for before, and go on to be read",
    function* () {
      const time = { now: 0 }
      const made: Array<string> = []
      const act = <A>(name: string, answer: A) =>
        Effect.sync(() => {
          made.push(name)
          return answer
        })
      const queues: MessageQueues["Service"] = {
        receive: () => act("receive", []),
        sendBatch: () => act("send", { succeeded: new Set(), failed: [] }),
        deleteBatch: () => act("delete messages", { succeeded: new Set(), failed: [] }),
        create: () => act("create", "url"),
        delete: () => act("delete", undefined),
        urlOf: () => act("url", "url"),
        attributes: () => act("attributes", {}),
        tags: () => act("tags", {})
      }
      const led = queuesWhileLeading(new LeaseTerm(0, 0, defaultLeaseTimes, () => time.now), queues)
      const changes = [
        led.receive({ url: "q", max: 1, waitSeconds: 0, visibilitySeconds: 1 }),
        led.sendBatch("q", []),
        led.deleteBatch("q", []),
        led.create({ name: "q", beside: "p", attributes: {}, tags: {} }),
        led.delete("q")
      ]
      for (const change of changes) yield* change
      assert.deepStrictEqual(made, ["receive", "send", "delete messages", "create", "delete"])
      time.now = 10_000
      for (const change of changes)
        assert.strictEqual((yield* Effect.flip<unknown, { reason: string }, never>(change)).reason, "NotLeading")
      for (const read of [led.urlOf("q"), led.attributes("q"), led.tags("q")]) yield* read
      assert.deepStrictEqual(made.slice(5), ["url", "attributes", "tags"])
    }
  )
})
