/**
 * N2 (failures.md §3.2). An operator logs Error only where it caught a defect; anything that can happen to a sound
 * program is a warning at most.
 */

import type { Invariant } from "./invariant.ts"

export const noDefects: Invariant = {
  id: "N2",
  sentence: "No operator logs an error, and none ends by itself.",
  begin: () => ({
    on: (event) => {
      if (event._tag === "Log" && (event.line.level === "Error" || event.line.level === "Fatal")) {
        return `${event.process} logs ${JSON.stringify(event.line.message)} ${JSON.stringify(event.line.details)}.`
      }
      if (event._tag === "Operator" && event.change === "ended") return `${event.process} ended: ${event.detail ?? ""}`
      return undefined
    }
  })
}
