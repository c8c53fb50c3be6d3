/**
 * Runs `braid operator` as the program does, and lets it die when its parent says so: by a defect of its main fiber, an
 * exception that nobody catches, or a promise that nobody awaits.
 */

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { runs, teardown } from "../../src/app/commands/run-command.ts"

const death = Effect.callback<never>((resume) => {
  process.once("message", (way) => {
    const planted = new TypeError(`planted ${String(way)}`, { cause: new Error("the cause of it") })
    if (way === "defect") resume(Effect.die(planted))
    else if (way === "rejection") void Promise.reject(planted)
    else throw planted
  })
})

runs(
  () => import("../../src/app/commands/operator-command.ts"),
  ({ runOperator }) => Effect.raceFirst(runOperator, death)
).pipe(NodeRuntime.runMain({ teardown }))
