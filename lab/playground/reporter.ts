/** Tells people or programs how the playground proceeds. The steps themselves are in `story.ts`. */

import { Effect } from "effect"

/** Further details of a step; JSON values only. */
export type StepDetails = Readonly<Record<string, unknown>>

/** Reports the steps of a playground. */
export interface Reporter {
  readonly step: (name: string, ok: boolean, details?: StepDetails) => Effect.Effect<void>
  /** A sentence for people; left out of JSON. */
  readonly say: (text: string) => Effect.Effect<void>
  /** Whether every step so far was fine. */
  readonly allOk: () => boolean
}

const write = (line: string): void => void process.stdout.write(`${line}\n`)

const sentences: Readonly<Record<string, string>> = {
  clusters: "API servers and nodes are up",
  workload: "the demo workload runs",
  operators: "an operator serves in each cluster",
  session: "one session over all clusters is open",
  env: "the environment comes from the default cluster",
  file: "a file comes from the default cluster",
  outgoing: "an outgoing connection leaves from the default cluster",
  incoming: "requests that enter at every cluster are answered by one local process",
  ping: "pings are answered by one pong each",
  "member-lost": "a member is gone, the session goes on",
  "member-returned": "the member is back and takes part again",
  "member-left": "a member leaves the fleet by `braid leave`, the session goes on",
  "member-joined": "it joins again by `braid join`, and takes part",
  ended: "the session is ended: no child and no agent is left",
  database: "the demo workload of the default cluster has a PostgreSQL with 20 users and 100 orders",
  branch:
    "a program of mirrord's client has a branch: both tables, the 3 users of its filter, and a row that it writes",
  "database-unchanged": "the database itself is as it was",
  "branch-listed": "the branch is listed by `mirrord db-branches status`",
  "branch-reused": "a second session has the same branch, with the row of the first",
  "branch-ended": "the branch is ended by `mirrord db-branches destroy`: no object, pod or password is left",
  ready: "the playground is ready"
}

/** With `json` one line per step on standard output, `{"step":…,"ok":…}`; otherwise a sentence with a mark. */
export const makeReporter = (json: boolean): Reporter => {
  let allOk = true
  return {
    step: (name, ok, details = {}) =>
      Effect.sync(() => {
        allOk &&= ok
        if (json) return write(JSON.stringify({ step: name, ok, ...details }))
        const problem = ok ? "" : `: ${String(details["problem"] ?? "failed")}`
        write(`${ok ? "✓" : "✗"} ${sentences[name] ?? name}${problem}`)
      }),
    say: (text) => Effect.sync(() => (json ? undefined : write(text))),
    allOk: () => allOk
  }
}
