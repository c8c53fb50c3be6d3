/**
 * N2 (failures.md §3.2). An operator logs Error only where it caught a defect; anything that can happen to a sound
 * program is a warning at most.
 */

import type { Invariant } from "./invariant.ts"

export const noDefects: Invariant = {
  id: "N2",
  sentence: "No operator logs an error, and none ends by itself.",
  begin: (world) => ({
    on: {
      Log: ({ line: { details, level, message }, process }) =>
        level === "Error" || level === "Fatal"
          ? `${process} logs ${JSON.stringify(message)} ${JSON.stringify(details)}.`
          : undefined,
      Operator: ({ change, cluster, detail = "", process }) => {
        // As in production, a primary whose files cannot be used does not start.
        const isRefused = cluster === world().primary.name && !world().files.isGood
        return change === "ended" && !isRefused ? `${process} ended: ${detail}` : undefined
      }
    }
  })
}
