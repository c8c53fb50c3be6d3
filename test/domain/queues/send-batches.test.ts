import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { DestinationQueue } from "../../../src/domain/queues/forwarded-message.ts"
import type { ReceivedMessage } from "../../../src/domain/queues/queue-message.ts"
import {
  afterBatch,
  batchSize,
  deletableMessages,
  nextBatch,
  type QueuedSend,
  queuedSends
} from "../../../src/domain/queues/send-batches.ts"

const queue = (url: string, isFifo: boolean): DestinationQueue => ({
  url,
  isFifo,
  maximumMessageSize: 1_024,
  sessionKey: undefined
})
const messages = fc
  .array(fc.record({ group: fc.constantFrom("g", "h", "i", ""), size: fc.integer({ min: 1, max: 60 }) }), {
    maxLength: 14
  })
  .map((list) =>
    list.map(({ group, size }, index): ReceivedMessage => ({
      MessageId: `m${index}`,
      ReceiptHandle: `r${index}`,
      Body: "x".repeat(size),
      Attributes: group === "" ? undefined : { MessageGroupId: group }
    }))
  )

/** Sends all to one queue. `fails`: whether the queue refuses a message. */
const sendAll = (sends: ReadonlyArray<QueuedSend>, size: number, fails: (send: QueuedSend) => boolean) => {
  const batches: Array<ReadonlyArray<QueuedSend>> = []
  const sent: Array<QueuedSend> = []
  let waiting = sends
  while (waiting.length > 0) {
    const next = nextBatch(waiting, size)
    expect(next.batch.length).toBeGreaterThan(0)
    batches.push(next.batch)
    const ids = next.batch.filter((send) => !fails(send)).map(({ entry }) => entry.Id)
    const after = afterBatch(next, new Set(ids))
    sent.push(...after.sent)
    waiting = after.waiting
  }
  return { batches, sent }
}

describe("batches of sends", () => {
  it("keep the limits, and the order of each group up to its first failure", () => {
    fc.assert(
      fc.property(messages, fc.boolean(), fc.infiniteStream(fc.boolean()), (messages, isFifo, failures) => {
        const sends = queuedSends(messages, queue("q", isFifo))
        const failed = new Set(sends.filter(() => failures.next().value === true))
        const { batches, sent } = sendAll(sends, 50, (send) => failed.has(send))
        for (const batch of batches) {
          expect(batch.length).toBeLessThanOrEqual(10)
          if (batch.length > 1) expect(batch.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(50)
          expect(new Set(batch.map(({ entry }) => entry.Id)).size).toBe(batch.length)
          const groups = batch.flatMap(({ group }) => (group === undefined ? [] : [group]))
          expect(new Set(groups).size).toBe(groups.length)
        }
        for (const group of new Set(sends.map((send) => send.group))) {
          const ofGroup = sends.filter((send) => send.group === group)
          const end = ofGroup.findIndex((send) => failed.has(send))
          const expected =
            group === undefined
              ? ofGroup.filter((send) => !failed.has(send))
              : ofGroup.slice(0, end < 0 ? undefined : end)
          const made = sent.filter((send) => send.group === group)
          expect(group === undefined ? new Set(made) : made).toEqual(group === undefined ? new Set(expected) : expected)
        }
      })
    )
  })

  it("let a message be deleted exactly if every send of it succeeded", () => {
    fc.assert(
      fc.property(messages, fc.infiniteStream(fc.boolean()), (messages, choices) => {
        const choose = () => choices.next().value === true
        const mirrored = messages.filter(choose)
        const all = [...queuedSends(messages, queue("main", true)), ...queuedSends(mirrored, queue("mirror", false))]
        const sent = new Set(all.filter(choose))
        const deletable = new Set(deletableMessages(all, sent))
        for (const message of messages) {
          const sends = all.filter(({ source }) => source === message)
          expect(deletable.has(message)).toBe(sends.every((send) => sent.has(send)))
        }
      })
    )
  })

  it("take ten messages at once where no order counts, and one after the other in one group", () => {
    const received = Array.from({ length: 11 }, (_, i) => ({
      MessageId: `m${i}`,
      ReceiptHandle: "r",
      Body: "x",
      Attributes: { MessageGroupId: "g" }
    }))
    const sizes = (isFifo: boolean) =>
      sendAll(queuedSends(received, queue("q", isFifo)), 100, () => false).batches.map(({ length }) => length)
    expect(sizes(false)).toEqual([10, 1])
    expect(sizes(true)).toEqual(Array.from({ length: 11 }, () => 1))
  })

  it("count the session's key, and are as large as every queue takes them, or as its largest message", () => {
    const [send] = queuedSends([{ MessageId: "m", ReceiptHandle: "r", Body: "x" }], {
      ...queue("q", false),
      sessionKey: "ann"
    })
    expect(send?.size).toBe(1 + "mirrord-keyStringann".length)
    expect(batchSize(queue("q", false))).toBe(262_144)
    expect(batchSize({ ...queue("q", false), maximumMessageSize: 1_048_576 })).toBe(1_048_576)
  })
})
