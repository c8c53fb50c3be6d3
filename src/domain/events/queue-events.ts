/**
 * Which Event a new status of a session's part in a split is worth.
 *
 * Not here: writing Events (app/kernel/event-recorder.ts).
 */

import { quotation } from "../clean-text.ts"
import type { NewStatus } from "../queues/split-action.ts"
import type { SessionEvent } from "./event-catalogue.ts"

/** `undefined` for a status on the way. */
export const splitSessionEvent = (status: NewStatus): SessionEvent | undefined => {
  switch (status.phase) {
    case "starting":
    case "resourcesReady":
      return undefined
    case "ready": {
      const names = status.resources.map(({ source }) => quotation(source.name)).join(", ")
      return { reason: "QueuesSplit", message: `The session gets its messages of ${names}.` }
    }
    case "startError":
    case "cleanupError":
      return { reason: "QueuesNotSplit", message: `${quotation(status.message)}.` }
  }
}
