/**
 * The program of a worker process: does one piece of work after the other, until the command that started it is gone.
 */

import { doWork } from "./do-work.ts"
import type { Work } from "./work.ts"

// Ctrl-C reaches the whole process group, but the command decides when its workers end.
process.on("SIGINT", () => undefined)
process.on("disconnect", () => process.exit(0))
process.on("message", (work: Work) => {
  process.send?.(doWork(work))
})
