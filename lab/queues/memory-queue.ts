/**
 * One queue of Amazon SQS in memory: order, visibility, duplicates, groups, dead letters, counts that lag. Time arrives
 * as an argument, and chance comes from a seed.
 *
 * Not here: calls and their failures (memory-queues.ts).
 */

import { messageSize } from "../../src/domain/queues/forwarded-message.ts"
import type { GivenMessage } from "../../src/domain/queues/queue-message.ts"
import { isFifoName } from "../../src/domain/queues/queue-name.ts"
import type { QueueErrorReason, SendEntry } from "../../src/ports/message-queues.ts"

/** The source of chance. A simulation gives its own stream. */
export interface Chance {
  readonly chance: (probability: number) => boolean
}

type Texts = Readonly<Record<string, string>>

interface Stored {
  readonly id: string
  readonly entry: Omit<SendEntry, "Id">
  readonly sentAt: number
  visibleAt: number
  receives: number
}

/** The hidden part of one moment's messages, for counts that lag. */
interface Snapshot {
  readonly at: number
  readonly messages: ReadonlyArray<Pick<Stored, "visibleAt" | "receives">>
}

/** How long a FIFO queue remembers an id against duplicates, in ms. */
const memory = 300_000
const maxAttributes = 10

export class MemoryQueue {
  readonly name: string
  readonly isFifo: boolean
  readonly attributes: Texts
  readonly tags: Texts
  /** Called when a message may have become visible, for polls that wait. */
  readonly waiting = new Set<() => void>()
  /** When the queue was deleted, in ms; `undefined` while it exists. */
  deletedAt: number | undefined
  readonly #chance: Chance
  readonly #remembered = new Map<string, number>()
  #messages: ReadonlyArray<Stored> = []
  #history: ReadonlyArray<Snapshot> = []
  #accepted = 0

  constructor(
    name: string,
    { attributes, tags }: { readonly attributes: Texts; readonly tags: Texts },
    chance: Chance
  ) {
    this.name = name
    this.isFifo = isFifoName(name)
    this.attributes = { VisibilityTimeout: "30", MaximumMessageSize: "262144", DelaySeconds: "0", ...attributes }
    this.tags = tags
    this.#chance = chance
  }

  get maximumMessageSize(): number {
    return Number(this.attributes["MaximumMessageSize"])
  }

  delete(now: number): void {
    this.deletedAt = now
    for (const wake of [...this.waiting]) wake()
  }

  /** Bodies of all messages, hidden messages with them. */
  get bodies(): ReadonlyArray<string> {
    return this.#messages.map(({ entry }) => entry.MessageBody)
  }

  /** When a hidden message becomes visible; `Infinity` if none is hidden. */
  nextVisible(now: number): number {
    return Math.min(...this.#messages.map(({ visibleAt }) => visibleAt).filter((at) => at > now), Infinity)
  }

  /** Accepts a message, or gives the reason against it. */
  send(entry: Omit<SendEntry, "Id">, now: number): QueueErrorReason | undefined {
    const { MessageAttributes, MessageBody, MessageDeduplicationId: key = "", MessageGroupId = "" } = entry
    const names = Object.keys(MessageAttributes)
    const isRefused =
      MessageBody === "" ||
      names.length > maxAttributes ||
      names.some((name) => /^(?:aws|amazon)\./iu.test(name)) ||
      messageSize(MessageBody, MessageAttributes) > this.maximumMessageSize ||
      (this.isFifo ? MessageGroupId === "" || key === "" : key !== "")
    if (isRefused) return "Invalid"
    if (this.isFifo && (this.#remembered.get(key) ?? 0) > now) return undefined
    if (this.isFifo) this.#remembered.set(key, now + memory)
    const visibleAt = now + Number(this.attributes["DelaySeconds"]) * 1_000
    const id = `${this.name}-${++this.#accepted}`
    this.#become([...this.#messages, { id, entry, sentAt: now, visibleAt, receives: 0 }], now)
    return undefined
  }

  /**
   * Gives messages and hides them. `duplicates`: the probability that a message stays visible although it was given.
   * `deadLetter` takes the messages that were given too often.
   */
  receive(
    { hiddenFor, max }: { readonly hiddenFor: number; readonly max: number },
    { duplicates, reorder }: { readonly duplicates: number; readonly reorder: number },
    deadLetter: (entry: Omit<SendEntry, "Id">) => void,
    now: number
  ): ReadonlyArray<GivenMessage> {
    const { maxReceiveCount = Infinity } = JSON.parse(this.attributes["RedrivePolicy"] ?? "{}")
    const held = new Set<string>()
    const visible = this.#messages.filter(({ entry: { MessageGroupId = "" }, visibleAt }) => {
      if (visibleAt > now && this.isFifo) held.add(MessageGroupId)
      return visibleAt <= now && !held.has(MessageGroupId)
    })
    const isReversed = !this.isFifo && this.#chance.chance(reorder)
    const given: Array<GivenMessage> = []
    for (const message of isReversed ? visible.toReversed() : visible) {
      if (given.length === max) break
      if (message.receives >= Number(maxReceiveCount)) {
        deadLetter(message.entry)
        this.#become(
          this.#messages.filter((other) => other !== message),
          now
        )
        continue
      }
      message.receives++
      if (this.isFifo || !this.#chance.chance(duplicates)) message.visibleAt = now + hiddenFor
      given.push(this.#given(message))
    }
    if (given.length > 0) this.#note(now)
    return given
  }

  /** Deletes the message of a handle, or gives the reason against it. An old handle deletes by chance. */
  remove(handle: string, now: number): QueueErrorReason | undefined {
    const [id, receives] = handle.split("/")
    const found = this.#messages.find((message) => message.id === id)
    if (found === undefined) return undefined
    const isLatest = String(found.receives) === receives
    if (this.isFifo && (!isLatest || found.visibleAt <= now)) return "InvalidHandle"
    if (isLatest || this.#chance.chance(0.5))
      this.#become(
        this.#messages.filter((message) => message !== found),
        now
      )
    return undefined
  }

  /** Approximate counts: those of `lag` ms ago. */
  counts(lag: number, now: number): Texts {
    const messages = this.#history.findLast(({ at }) => at <= now - lag)?.messages ?? []
    const hidden = messages.filter(({ visibleAt }) => visibleAt > now - lag)
    const delayed = hidden.filter(({ receives }) => receives === 0).length
    return {
      ApproximateNumberOfMessages: String(messages.length - hidden.length),
      ApproximateNumberOfMessagesNotVisible: String(hidden.length - delayed),
      ApproximateNumberOfMessagesDelayed: String(delayed)
    }
  }

  #given({ entry, id, receives, sentAt }: Stored): GivenMessage {
    const { MessageAttributes, MessageBody, MessageDeduplicationId, MessageGroupId, MessageSystemAttributes } = entry
    return {
      MessageId: id,
      ReceiptHandle: `${id}/${receives}`,
      Body: MessageBody,
      MessageAttributes,
      Attributes: {
        ApproximateReceiveCount: String(receives),
        SentTimestamp: String(sentAt),
        ...(MessageGroupId !== undefined && { MessageGroupId }),
        ...(MessageDeduplicationId !== undefined && { MessageDeduplicationId }),
        ...(MessageSystemAttributes && { AWSTraceHeader: MessageSystemAttributes.AWSTraceHeader.StringValue })
      }
    }
  }

  /** Other messages may be visible now, so that polls look again. */
  #become(messages: ReadonlyArray<Stored>, now: number): void {
    this.#messages = messages
    this.#note(now)
    for (const wake of [...this.waiting]) wake()
  }

  #note(now: number): void {
    const messages = this.#messages.map(({ receives, visibleAt }) => ({ receives, visibleAt }))
    this.#history = [...this.#history.slice(-200), { at: now, messages }]
  }
}
