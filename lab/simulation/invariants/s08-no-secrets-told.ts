/**
 * S8 (failures.md §1.8). Every credential of a simulated world contains the canary; its base64, as Secrets hold it,
 * counts too. Metrics and crash dumps are not part of a simulated world.
 */

import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { canary } from "../world/canary.ts"
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

/** A text that may be shown to people who may not know credentials, and where. */
const told = (where: string, text: string): string | undefined =>
  leaks(text) ? `A credential is in ${where}.` : undefined

export const noSecretsTold: Invariant = {
  id: "S8",
  sentence: "No credential appears in a log, a status, an object other than a Secret, or a message to a user.",
  begin: () => ({
    on: {
      Log: ({ line, process }) => told(`the log of ${process}`, `${line.message} ${json(line.details)}`),
      Span: ({ process, span }) => told(`a span of ${process}`, json(span)),
      // Bodies of operators' writes are checked here, once each; the whole object would be checked again with every
      // heartbeat.
      Called: ({ call: { body, name, resource, to, verb } }) =>
        body === undefined || resource === secrets.plural
          ? undefined
          : told(`${verb} ${resource} ${name} in ${to}`, json(body)),
      Committed: ({ cluster, commit: { after, before, ref } }) =>
        after === undefined || before !== undefined || ref.plural === secrets.plural
          ? undefined
          : told(`${ref.plural} ${after.metadata.name} in ${cluster}`, json(after)),
      Operator: ({ detail = "", process }) => told(`the end of ${process}`, detail),
      ClientRefused: ({ client, message, reason }) => told(`the refusal of ${client}`, `${reason} ${message}`),
      ClientEvent: ({ client, event }) => {
        if (event._tag === "Log") return told(`the log of ${client}`, event.message)
        return event._tag === "NotDone" ? told(`an answer to ${client}`, event.reason) : undefined
      },
      ClientLost: ({ client, reason }) => told(`the lost connection of ${client}`, reason),
      ClientEnded: ({ client, message }) => told(`the end of ${client}`, message)
    }
  })
}
