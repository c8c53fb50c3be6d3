/** The program of a worker process of `npm run explore`: tells with each story which parts of the program ran in it. */

import { serveWork } from "../command/serve-work.ts"
import type { Answer, Work } from "../command/work.ts"
import { countParts } from "./part-counts.ts"

const takeCounts = countParts()
// Loaded after the count has begun, or V8 would not count the parts of all functions.
const { doWork } = await import("../command/do-work.ts")

serveWork((work: Work): Answer => {
  takeCounts()
  const answer = doWork(work)
  return work._tag === "Run" && answer._tag === "Ran" ? { ...answer, functions: takeCounts() } : answer
})
