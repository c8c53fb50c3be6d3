/** The common form of verbs by which a session's program asks for something and is told an answer, such as `env`. */

import type { SimClient } from "../world/sim-client.ts"
import { withSession } from "./scene.ts"
import type { StoryRun } from "./verb.ts"

/** How long an expected answer may take, ms. */
const patience = 10_000

/** Asks for something as a session's program. If `wanted` is given, the program must be told it within 10 s. */
export const ask = (
  run: StoryRun,
  session: string,
  question: (client: SimClient) => void,
  wanted: string | undefined
): void =>
  withSession(run, session, (client) => {
    const before = client.answers.length
    question(client)
    if (wanted === undefined) return
    const news = (): ReadonlyArray<string> => client.answers.slice(before)
    const isThere = run.world.passUntil(() => news().some((answer) => answer.includes(wanted)), patience)
    run.pass(0)
    if (!isThere)
      run.fail(`${session} should be told ${JSON.stringify(wanted)}, but it is told ${news().join(", ") || "nothing"}.`)
  })
