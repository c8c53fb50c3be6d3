import { doWork } from "./do-work.ts"
import type { Work } from "./work.ts"

/** The program of a worker process: one piece of work after the other, until the command that started it is gone. */

// Ctrl-C reaches the whole group of processes; the command decides when its workers end.
process.on("SIGINT", () => undefined)
process.on("disconnect", () => process.exit(0))
process.on("message", (work: Work) => {
  process.send?.(doWork(work))
})
