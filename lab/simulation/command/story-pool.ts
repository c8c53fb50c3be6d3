/** Worker processes that run stories. */

import { fileURLToPath } from "node:url"
import type { Effect, Scope } from "effect"
import type { Answer, Work } from "./work.ts"
import { makeWorkerPool, type WorkerPool } from "./worker-pool.ts"

export type StoryPool = WorkerPool<Work, Answer>

const defaultProgram = fileURLToPath(new URL("worker.ts", import.meta.url))

/** Starts so many workers; `program` serves {@link Work}. */
export const makeStoryPool = (count: number, program = defaultProgram): Effect.Effect<StoryPool, never, Scope.Scope> =>
  makeWorkerPool<Work, Answer>(program, count)
