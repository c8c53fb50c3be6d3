/** Verbs of a story's course: time, rest, expectations, and the ends of sessions. */

import { Result } from "effect"
import { sessionId, sessionIdHex } from "../../../../src/domain/sessions/session-id.ts"
import { ofASession } from "../draws.ts"
import { expectation } from "../expectations.ts"
import { after, casesOr, time } from "../parts.ts"
import { cluster, session } from "../things.ts"
import { act, type Verb } from "../verb.ts"

export const courseVerbs: ReadonlyArray<Verb> = [
  act({
    name: "tick",
    words: { time },
    summary: "Lets time pass.",
    run: (found, { pass }) => pass(found.time),
    random: {
      weight: 20,
      line: ({ random }) => `tick ${random.pick(["50ms", "200ms", "1s", "3s", "7s", "15s", "35s", "70s"])}`
    }
  }),
  act({
    name: "settle",
    words: {},
    summary: "All faults end, time passes until everything is well again, and what must hold then is checked.",
    run: (_, run) => run.settle(),
    random: { weight: 1, line: () => "settle" }
  }),
  act({
    name: "expect",
    words: { expectation },
    summary: "The story fails unless this holds: now, or within a time, which passes no longer than it must.",
    run: ({ expectation: { look, patience, sentence } }, run) => {
      const { world } = run
      if (look(world) === undefined) return `${sentence}: a name of it is not in this story`
      const holds = world.passUntil(() => look(world)?.holds === true, patience)
      run.pass(0)
      if (!holds) run.fail(`Expected: ${sentence}; but ${look(world)?.found ?? "it is gone"}.`)
    }
  }),
  act({
    name: "leave",
    words: { who: casesOr({ operator: { cluster } }, { session }) },
    summary: "A user ends the session; or a cluster's operator goes for ever, as if uninstalled.",
    run: ({ who }, run) => {
      if (who.is === undefined) return who.session.leave()
      const { host, name } = who.cluster
      run.fault("operator gone", `the operator of ${name} is gone for ever`)
      host.leaveForEver()
    },
    random: {
      weight: 4,
      line: (draw) =>
        draw.random.chance(0.1)
          ? `leave operator ${draw.random.pick(draw.places)}`
          : ofASession(draw, (session) => `leave ${session}`)
    }
  }),
  act({
    name: "kill",
    words: { session },
    summary: "The session's programs die as by SIGKILL.",
    run: ({ session }, run) => {
      run.fault("client killed", `${session.name} is killed`)
      session.kill()
    },
    random: { weight: 3, line: (draw) => ofASession(draw, (session) => `kill ${session}`) }
  }),
  act({
    name: "delete",
    words: { session: after("session", session) },
    summary: "A person ends a session by the API's DELETE.",
    run: ({ session: { name, sessionId: id } }, run) => {
      const reference = sessionIdHex(sessionId(id))
      const caller = { user: "admin", groups: ["developers"], extra: {} }
      run.world.primary.host.ask(
        (facade) => facade.deleteSession(reference, caller),
        (result) => run.note(`DELETE of ${name}: ${Result.isSuccess(result) ? "done" : result.failure}`)
      )
    },
    random: { weight: 2, line: (draw) => ofASession(draw, (session) => `delete session ${session}`) }
  })
]
