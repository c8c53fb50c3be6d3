/** Reads `statefulset/db` and the like: a workload that copies are made of. */

import { Result } from "effect"
import { type WorkloadPlan, workloadKinds } from "../world/sim-kubelet.ts"
import { nameWord, oneOf } from "./words.ts"

export const workloadWord = (word: string | undefined): Result.Result<Pick<WorkloadPlan, "kind" | "name">, string> =>
  Result.gen(function* () {
    const [kind, name, ...rest] = (word ?? "").split("/")
    if (rest.length > 0) return yield* Result.fail(`${JSON.stringify(word)} is no workload: write deployment/myapp`)
    return { kind: yield* oneOf(kind, workloadKinds), name: yield* nameWord(name, "a workload's name") }
  })
