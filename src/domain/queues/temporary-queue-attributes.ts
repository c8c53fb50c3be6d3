/**
 * Attributes and tags with which a temporary queue is made, from those of the original (AWS, CreateQueue).
 *
 * Not here: its name (temporary-queue-name.ts).
 */

import { isObject } from "../json.ts"
import { isFifoName } from "./queue-name.ts"
import type { TemporaryRole } from "./temporary-queue-name.ts"

type Texts = Readonly<Record<string, string>>

/** The original as it was read. */
export interface OriginalQueue {
  readonly name: string
  readonly attributes: Texts
  readonly tags: Texts
}

export interface TemporaryQueue {
  readonly name: string
  readonly role: TemporaryRole
  /** Tags that the administrator wants on temporary queues. They win over tags of the original. */
  readonly tags: Texts
}

const copied = ["VisibilityTimeout", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds", "MaximumMessageSize"]
const fifo = ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"]
const keyed = ["KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"]

/** Tags of one queue, at most (AWS, TagQueue). */
const maxTags = 50

/** Values of one JSON text, with every text inside of it rewritten. */
const rewritten = (value: unknown, rewrite: (text: string) => string): unknown => {
  if (typeof value === "string") return rewrite(value)
  if (Array.isArray(value)) return value.map((item) => rewritten(item, rewrite))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, rewritten(part, rewrite)]))
    : value
}

/** The policy with another queue's name in ARNs of queues. Another resource of the same name stays as it is. */
const renamedPolicy = (policy: string, from: string, to: string): string => {
  const rewrite = (text: string): string => {
    const [, arn = "", name = "", wildcard = ""] = /^(arn:[^:]*:sqs:[^:]*:[^:]*:)([^:*?]*)([*?]*)$/u.exec(text) ?? []
    return arn !== "" && name === from ? `${arn}${to}${wildcard}` : text
  }
  try {
    return JSON.stringify(rewritten(JSON.parse(policy), rewrite))
  } catch {
    // AWS judges what it once took.
    return policy
  }
}

/** The attributes for `CreateQueue`. The delay was served before a message could be received, so there is none. */
const attributesOf = (original: OriginalQueue, { name, role }: TemporaryQueue): Texts => {
  const source = new Map(Object.entries(original.attributes))
  const isKeyed = (source.get("KmsMasterKeyId") ?? "") !== ""
  const names = [
    ...copied,
    ...(isFifoName(name) ? fifo : []),
    ...(isKeyed ? keyed : ["SqsManagedSseEnabled"]),
    // A session's messages that a breakpoint holds up are no dead letters of the team.
    ...(role === "main" ? ["RedrivePolicy"] : [])
  ]
  const policy = source.get("Policy") ?? ""
  return {
    ...Object.fromEntries(
      names.flatMap((key) => {
        const value = source.get(key) ?? ""
        return value === "" ? [] : [[key, value] as const]
      })
    ),
    DelaySeconds: "0",
    // Never `false`: AWS refuses it.
    ...(isFifoName(name) && { FifoQueue: "true" }),
    ...(policy !== "" && { Policy: renamedPolicy(policy, original.name, name) })
  }
}

/** AWS keeps tags with its own prefix for itself. */
const tagsOf = (original: OriginalQueue, { tags }: TemporaryQueue): Texts => {
  const own = Object.entries(original.tags).filter(([key]) => !/^aws:/iu.test(key) && !Object.hasOwn(tags, key))
  return Object.fromEntries([...Object.entries(tags), ...own].slice(0, maxTags))
}

/** The arguments for `CreateQueue` beside the name. */
export const temporaryQueueArguments = (
  original: OriginalQueue,
  temporary: TemporaryQueue
): { readonly attributes: Texts; readonly tags: Texts } => ({
  attributes: attributesOf(original, temporary),
  tags: tagsOf(original, temporary)
})
