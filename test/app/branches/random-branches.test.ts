/** Sessions on branches, whatever happens to branches, variables and operator: none reads the address of the source. */

import { Effect } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { UsableBranch } from "../../../src/app/branches/branch-directory.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { pattern, variable } from "../../domain/branches/session-branch.ts"
import { pass, request } from "../../support/connect-request.ts"
import { virtualTime } from "../../support/effect-it.ts"
import { connectTo, memberOf, startWorld } from "../../support/memory-session.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { client } from "../policies/policed.ts"
import { memoryBranches, readyBranch, withBranches } from "./memory-branches.ts"

const names = ["ann", "bob"] as const
const sources = {
  ann: { url: [variable("ANN_URL"), pattern("ANN_DSN", "host=([^ ]*)")] },
  bob: { params: { host: variable("BOB_HOST"), port: variable("BOB_PORT"), user: pattern("BOB_LOGIN", "^([^:]*)") } }
}
const ofBranches = ["ANN_URL", "ANN_DSN", "BOB_HOST"]

/** Texts in which the address of the source may stand. */
const texts = [
  "postgresql://u:p@source:6432/shop?host=source&sslmode=require",
  "postgres://source",
  "jdbc:postgresql://source/shop",
  "host=postgresql://u@source/x port=1",
  "host=source port=1",
  "source"
]

type Step =
  | { readonly _tag: "Connect"; readonly session: number }
  | {
      readonly _tag: "Branch"
      readonly name: (typeof names)[number]
      readonly change: Partial<UsableBranch> | undefined
    }
  | { readonly _tag: "Variable"; readonly name: string; readonly text: string }
  | { readonly _tag: "Restart" }
  | { readonly _tag: "End"; readonly session: number }

const session = fc.integer({ min: 0, max: 2 })
/** The branches that each session names for all of its life. */
const named: ReadonlyArray<ReadonlyArray<string>> = [["ann"], ["ann", "bob"], []]
const unusable: ReadonlyArray<Partial<UsableBranch> | undefined> = [
  undefined,
  { isBeingDeleted: true },
  { phase: "Failed" },
  { phase: "Pending" },
  { access: undefined }
]
const change = fc.oneof(fc.constant({}), fc.constant({ uid: "later" }), fc.constantFrom(...unusable))
const connect = session.map((at): Step => ({ _tag: "Connect", session: at }))
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: connect },
    fc.record({ _tag: fc.constant("Branch" as const), name: fc.constantFrom(...names), change }),
    fc.record({
      _tag: fc.constant("Variable" as const),
      name: fc.constantFrom("ANN_URL", "ANN_DSN", "BOB_HOST", "BOB_PORT", "BOB_LOGIN"),
      text: fc.constantFrom(...texts)
    }),
    fc.constant<Step>({ _tag: "Restart" }),
    session.map((at): Step => ({ _tag: "End", session: at }))
  ),
  { minLength: 6, maxLength: 12 }
)

/** The hosts of the branches, by uid. */
const hosts: Readonly<Record<string, string>> = {
  "uid of ann": "10.0.0.1",
  "uid of bob": "10.0.0.2",
  "later ann": "10.0.0.3",
  "later bob": "10.0.0.4"
}
const branchOf = (name: (typeof names)[number], to: Partial<UsableBranch> = {}): UsableBranch => {
  const uid = to.uid === undefined ? {} : { uid: `${to.uid} ${name}` }
  const branch = readyBranch(name, { ...to, ...uid }, sources[name])
  const host = hosts[branch.uid] ?? ""
  return branch.access === undefined ? branch : { ...branch, access: { ...branch.access, database: "n", host } }
}

const variablesIn = (got: ReadonlyArray<DaemonMessage>): ReadonlyArray<ReadonlyMap<string, string>> =>
  got.flatMap((message) =>
    message._tag === "GetEnvVarsResponse" && message.value._tag === "Ok" ? [message.value.value] : []
  )

/** An answer to a session; `life` is another one for each session that has the id. */
interface Told {
  readonly session: number
  readonly life: string
  readonly variables: ReadonlyMap<string, string>
}

/** Carries the steps out; the answers to all sessions. */
const told = (all: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const branches = memoryBranches(...names.map((name) => branchOf(name)))
    const { world } = yield* startWorld({}, { capabilities: withBranches("a", branches) })
    const cluster = memberOf(world, "a")
    for (const name of ["ANN_URL", "BOB_HOST"]) cluster.variables.set(name, texts[0] ?? "")
    const certificate = yield* certificateOf(cluster)
    const answers: Array<Told> = []
    const lives = [0, 0, 0]
    for (const step of all) {
      if (step._tag === "Branch") {
        const before = branches.branches.get(step.name)
        const after = branchOf(step.name, step.change)
        // Another branch's status does not know the sessions of the one before.
        const sessions = before?.uid === after.uid ? before.sessions : []
        if (step.change === undefined) branches.branches.delete(step.name)
        else branches.branches.set(step.name, { ...after, sessions })
      } else if (step._tag === "Variable") cluster.variables.set(step.name, step.text)
      else if (step._tag === "Restart") {
        yield* pass("15 seconds")
        yield* world.kill(cluster)
        yield* world.start(cluster)
      } else if (step._tag === "End") {
        cluster.api.erase(mirrordClusterSessions, `000000000000000${step.session + 1}`)
        lives[step.session] = (lives[step.session] ?? 0) + 1
        yield* pass("1 second")
      } else {
        const query = new URLSearchParams({ branch_db_names: JSON.stringify(named[step.session]) }).toString()
        const asked = request(certificate, { sessionId: String(step.session + 1), query })
        const opened = yield* connectTo(cluster, asked)
        if (opened._tag === "Failure") continue
        const { got, say } = yield* client(opened.success)
        yield* say({ _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set() } })
        const about = { session: step.session, life: `${step.session} ${lives[step.session]}` }
        answers.push(...variablesIn(got).map((variables) => ({ ...about, variables })))
      }
    }
    return answers
  }).pipe(Effect.scoped, Effect.provide(virtualTime))

describe("sessions on branches", () => {
  it("have no address of the source in a variable of a branch that they name, nor of a later branch", async () => {
    let rewritten = 0
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const first = new Map<string, string>()
        for (const { life, session: at, variables } of await Effect.runPromise(told(all))) {
          for (const [name, text] of variables) {
            const owner = name.startsWith("ANN_") ? "ann" : "bob"
            if (!ofBranches.includes(name) || named[at]?.includes(owner) !== true) continue
            expect(text).not.toContain("source")
            const [host = ""] = /10\.0\.0\.\d/u.exec(text) ?? []
            const key = `${life} ${owner}`
            expect(host).toBe(first.get(key) ?? host)
            first.set(key, host)
            rewritten++
          }
        }
      }),
      { numRuns: 30 }
    )
    expect(rewritten).toBeGreaterThan(10)
  })
})
