import type { SimClient } from "../world/sim-client.ts"
import { withSession } from "./scene.ts"
import type { StoryRun } from "./verb.ts"

/** ms within which an expected answer must come. */
const patience = 10_000

/** A session's program asks for something; `wanted` must be in what it is told within 10 s, if given. */
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
