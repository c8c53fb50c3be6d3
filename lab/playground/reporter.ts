/** Reports to people or programs how the playground proceeds. The steps themselves are in `story.ts`. */

import { Clock, Effect } from "effect"
import { asObject } from "../../src/domain/json.ts"

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
  unreachable: "the API server of the member that dials out cannot be reached from the primary's network",
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
  consumers: "the workload of each cluster reads an SQS queue of its own",
  split: "a session over all clusters has one queue for its messages of both, and each workload has another one",
  messages: "each message is read, by the session if it matches the filter, and else by its own cluster's workload",
  restored: "the client is gone, and the workloads read their own queues again: no webhook is left, and no patched pod",
  "messages-later": "all messages go to the workloads again",
  "main-queues-deleted": "the main queues are deleted, and no message was read twice",
  ready: "the playground is ready"
}

/** The messages that a standard queue gave again. */
const repeated = (again: unknown): string => (again === 0 ? "" : `; ${String(again)} again`)

/** The entries of an object, as in `session 1000, cluster-a 4500`. */
const inWords = (named: unknown): string =>
  Object.entries(asObject(named))
    .map((entry) => entry.join(" "))
    .join(", ")

/** The evidence that people see behind a step. */
const evidence: Readonly<Record<string, (details: StepDetails) => unknown>> = {
  session: ({ client, session }) => [session, client].filter((part) => part !== undefined).join(", by "),
  unreachable: ({ answers }) => inWords(answers),
  env: ({ CLUSTER }) => `CLUSTER=${String(CLUSTER)}`,
  file: ({ content }) => content,
  outgoing: ({ greeting }) => greeting,
  "member-lost": ({ warning }) => warning,
  "member-left": ({ command }) => command,
  "member-joined": ({ command }) => command,
  consumers: ({ queues }) => inWords(queues),
  split: ({ mains, queue }) => `session ${String(queue)}, ${inWords(mains)}`,
  messages: ({ again, read, sent }) => `${String(sent)} sent; read so far: ${inWords(read)}${repeated(again)}`,
  restored: ({ queues }) => inWords(queues),
  "messages-later": ({ again, read, sent }) => `${String(sent)} sent; read so far: ${inWords(read)}${repeated(again)}`
}

export interface ReporterOptions {
  /** One line per step on standard output, `{"step":…,"ok":…}`, instead of a sentence with a mark. */
  readonly json: boolean
  /** Whether people see the lines as they come, each with the seconds since the beginning. */
  readonly isTerminal: boolean
  readonly isColoured: boolean
}

export const makeReporter = ({ isColoured, isTerminal, json }: ReporterOptions): Reporter => {
  let allOk = true
  let begun: number | undefined
  const paint = (code: number, text: string): string => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text)
  const sentenceOf = (name: string, ok: boolean, details: StepDetails, seconds: number): string => {
    const shown = ok ? evidence[name]?.(details) : (details["problem"] ?? "failed")
    const after = shown === undefined ? "" : `: ${String(shown)}`
    const time = isTerminal ? paint(2, ` (${seconds} s)`) : ""
    return `${ok ? paint(32, "✓") : paint(31, "✗")} ${sentences[name] ?? name}${after}${time}`
  }
  return {
    step: (name, ok, details = {}) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        begun ??= now
        allOk &&= ok
        if (json) return write(JSON.stringify({ step: name, ok, ...details }))
        write(sentenceOf(name, ok, details, Math.round((now - begun) / 1_000)))
      }),
    say: (text) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        begun ??= now
        if (!json) write(text)
      }),
    allOk: () => allOk
  }
}
