/**
 * S8 (failures.md §1.8). Every credential of a simulated world contains the canary; its base64, as Secrets hold it,
 * counts too. Metrics and crash dumps are not part of a simulated world.
 */

import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { canary } from "../world/canary.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { Invariant } from "./invariant.ts"

/** JSON of a value. A replacer makes it several times slower, so only values with a bigint, which throw, get one. */
const json = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part))
  }
}

/** Base64 of the canary at each of the three alignments, without the characters that depend on its neighbours. */
const encoded = [0, 1, 2].map((shift) => {
  const text = Buffer.from(`${"x".repeat(shift)}${canary}`, "utf8").toString("base64")
  return text.slice(shift === 0 ? 0 : shift + 1, -4)
})

const leaks = (text: string): boolean => text.includes(canary) || encoded.some((part) => text.includes(part))

/** A text that an event shows to somebody who may not know credentials, and where. */
const sink = (event: TimedEvent): readonly [where: string, text: string] | undefined => {
  switch (event._tag) {
    case "Log":
      return [`the log of ${event.process}`, `${event.line.message} ${json(event.line.details)}`]
    case "Span":
      return [`a span of ${event.process}`, json(event.span)]
    case "Called":
      // Bodies of operators' writes are checked here, once each; the whole object would be checked again with every
      // heartbeat.
      if (event.call.body === undefined || event.call.resource === secrets.plural) return undefined
      return [`${event.call.verb} ${event.call.resource} ${event.call.name} in ${event.call.to}`, json(event.call.body)]
    case "Committed": {
      const { after, before, ref } = event.commit
      if (after === undefined || before !== undefined || ref.plural === secrets.plural) return undefined
      return [`${ref.plural} ${after.metadata.name} in ${event.cluster}`, json(after)]
    }
    case "Operator":
      return event.detail === undefined ? undefined : [`the end of ${event.process}`, event.detail]
    case "ClientRefused":
      return [`the refusal of ${event.client}`, `${event.reason} ${event.message}`]
    case "ClientEvent":
      if (event.event._tag === "Log") return [`the log of ${event.client}`, event.event.message]
      if (event.event._tag === "NotDone") return [`an answer to ${event.client}`, event.event.reason]
      return undefined
    case "ClientLost":
      return [`the lost connection of ${event.client}`, event.reason]
    case "ClientEnded":
      return [`the end of ${event.client}`, event.message]
    default:
      return undefined
  }
}

export const noSecretsTold: Invariant = {
  id: "S8",
  sentence: "No credential appears in a log, a status, an object other than a Secret, or a message to a user.",
  begin: () => ({
    on: (event) => {
      const found = sink(event)
      return found !== undefined && leaks(found[1]) ? `A credential is in ${found[0]}.` : undefined
    }
  })
}
