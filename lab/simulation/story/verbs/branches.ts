/** `branches`: the workload has databases, and all operators make branches of them. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nothingMore } from "../words.ts"

export const branches: Verb = {
  name: "branches",
  usage: "branches",
  summary: "deployment/myapp has a PostgreSQL and a MySQL database, and all operators make branches of them.",
  kind: "setup",
  read: (words) =>
    Result.map(nothingMore(words), () => (plan) => {
      plan.branches = true
    })
}
