/**
 * Names of temporary queues. They begin with a prefix for which administrators give rights, and hold the original's
 * name (mirrord's pages "SQS" and "Azure Service Bus").
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { fifoSuffix, isFifoName, isQueueName, maxQueueName, queueStem } from "./queue-name.ts"

/** `main` gets what no session takes; `session` gets what one session takes. */
export type TemporaryRole = "main" | "session"

/** The documented policy of AWS gives rights for names with this prefix. */
const prefix = "mirrord-"
const defaultTemplate = "mirrord-tmp-{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}"
const places = ["{{RANDOM}}", "{{FALLBACK}}", "{{ORIGINAL}}"] as const
/** Digits of the digest that stands for the part of a name that was cut. */
const digestLength = 8

export interface TemporaryQueueName {
  /** The original's name. */
  readonly original: string
  readonly role: TemporaryRole
  /** Letters and digits that no other temporary queue has. */
  readonly random: string
  /** The form of the name, by the administrator; `undefined` stands for the default. */
  readonly template: string | undefined
  /** A pure SHA-256: lower-case hex of the digest of the text's UTF-8 bytes. */
  readonly sha256Hex: (text: string) => string
}

/** A name that was cut ends in a digest of the whole, so that names that differ only in their ends stay different. */
const fitting = (stem: string, room: number, { original, sha256Hex }: TemporaryQueueName): string =>
  stem.length <= room ? stem : `${stem.slice(0, room - digestLength - 1)}-${sha256Hex(original).slice(0, digestLength)}`

/** Makes the name; the failure is a sentence without a full stop about the template or the original's name. */
export const temporaryQueueName = (parts: TemporaryQueueName): Result.Result<string, string> => {
  const { original, random, role, template = defaultTemplate } = parts
  const missing = places.find((place) => template.split(place).length !== 2)
  if (missing !== undefined) {
    return Result.fail(`spec.tmpNameTemplate is ${quoted(template)}: it must have ${missing} once`)
  }
  const start = template.startsWith(prefix) ? template : `${prefix}${template}`
  const [before = "", after = ""] = start
    .replace("{{RANDOM}}", () => random)
    .replace("{{FALLBACK}}", role === "main" ? "-main-" : "-")
    .split("{{ORIGINAL}}")
  const suffix = isFifoName(original) ? fifoSuffix : ""
  const room = maxQueueName - before.length - after.length - suffix.length
  if (room <= digestLength + 1) {
    return Result.fail(
      `spec.tmpNameTemplate is ${quoted(template)}: it leaves ${room} of ${maxQueueName} characters for the name of ` +
        `the queue, which needs at least ${digestLength + 2}`
    )
  }
  const name = `${before}${fitting(queueStem(original), room, parts)}${after}${suffix}`
  return isQueueName(name)
    ? Result.succeed(name)
    : Result.fail(`${quoted(name)} is no name of a queue: spec.tmpNameTemplate may have letters, digits, - and _`)
}
