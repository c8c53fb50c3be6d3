/**
 * N2 (failures.md §3.2). An operator logs Error only where it caught a defect; anything that can happen to a sound
 * program is a warning at most.
 */

import type { Invariant } from "./invariant.ts"

export const noDefects: Invariant = {
  id: "N2",
  sentence: "No operator logs an error, and none ends by itself.",
  begin: (world) => ({
    on: (event) => {
      if (event._tag === "Log" && (event.line.level === "Error" || event.line.level === "Fatal")) {
        return `${event.process} logs ${JSON.stringify(event.line.message)} ${JSON.stringify(event.line.details)}.`
      }
      // As in production, a primary whose files cannot be used does not start.
      const isRefused = event._tag === "Operator" && event.cluster === world().primary.name && !world().files.isGood
      if (event._tag === "Operator" && event.change === "ended" && !isRefused)
        return `${event.process} ended: ${event.detail ?? ""}`
      return undefined
    }
  })
}
