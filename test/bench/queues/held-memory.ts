/** Memory of this process while a million messages go through one forwarder: queues in memory, in virtual time. */

import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { MemoryQueues } from "../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import { MessageQueues } from "../../../src/ports/message-queues.ts"
import { attributes, forward, forwardedBy } from "./bench-split.ts"

/** Messages that wait at the same time. */
const backlog = 200
const mib = 1_048_576

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** MiB after so many messages. */
export interface HeldMemory {
  readonly messages: number
  readonly heap: number
  readonly resident: number
}

/** Looks at the memory after each of these counts of messages of so many bytes. */
export const heldMemory = Effect.fnUntraced(
  function* (looks: ReadonlyArray<number>, bodyBytes: number) {
    const sqs = new MemoryQueues(new RandomStream("bench"))
    const queues = { original: sqs.add("original"), main: sqs.add("main"), session: sqs.add("session") }
    const forwarder = yield* Effect.provideService(forward(queues), MessageQueues, sqs.port())
    const found: Array<HeldMemory> = []
    for (let sent = 0; found.length < looks.length; sent += backlog) {
      const now = yield* Clock.currentTimeMillis
      for (let index = sent; index < sent + backlog; index++) {
        const MessageBody = String(index).padEnd(bodyBytes)
        sqs.at(queues.original)?.send({ MessageBody, MessageAttributes: attributes(index) }, now)
      }
      while (forwardedBy(forwarder) < sent + backlog) yield* TestClock.adjust(20)
      // Readers and the twin's own notes are no part of what is measured.
      for (const name of ["main", "session"]) sqs.add(name)
      sqs.calls.length = 0
      if (!looks.includes(sent + backlog)) continue
      collectGarbage()
      const { heapUsed, rss } = process.memoryUsage()
      found.push({ messages: sent + backlog, heap: heapUsed / mib, resident: rss / mib })
    }
    return found
  },
  Effect.scoped,
  Effect.provide(TestClock.layer({ warningDelay: "1 day" }))
)
