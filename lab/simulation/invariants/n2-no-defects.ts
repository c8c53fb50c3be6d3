import type { Invariant } from "./invariant.ts"

/**
 * An operator logs Error where it caught a defect; everything that can happen in a sound program is a warning at most.
 */
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
