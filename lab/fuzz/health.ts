/**
 * Whether an arena is as it was before the hostile input: the operators run and hold nothing more, their logs name no
 * defect, and the live sessions are undisturbed. Ends the sessions that hostile input has begun.
 */

import { setTimeout as pause } from "node:timers/promises"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { operatorApiRoot } from "../../src/domain/resources/operator-api.ts"
import { boundMinutes } from "../client/bound.ts"
import type { Arena, Operator } from "./arena.ts"
import { answerProblem, readAnswers } from "./http-answer.ts"
import type { LiveSessions } from "./live-sessions.ts"
import { growth, leftovers, type Vitals } from "./vitals.ts"

/** How long things may take to end, in ms. */
const patience = boundMinutes * 60_000

/** Makes a request as a person who may do everything. */
const ask = async ({ address, peers }: Operator, method: "GET" | "DELETE", path: string): Promise<unknown> => {
  const peer = await peers.dial(address, "front proxy")
  if (peer === undefined) throw new Error(`the operator takes no connection for ${method} ${path}`)
  const headers = "Host: operator\r\nConnection: close\r\nX-Remote-User: fuzz\r\nX-Remote-Group: system:masters\r\n"
  await peer.send(Buffer.from(`${method} ${operatorApiRoot}/${path} HTTP/1.1\r\n${headers}\r\n`))
  // Node's server drops a request whose client has ended its side.
  await peer.until(`the answer to ${method} ${path}`, (heard) => readAnswers(heard).answers.length > 0)
  await peer.end("half-close")
  const [answer] = readAnswers(peer.heard).answers
  if (answer === undefined) throw new Error(`the operator gives no answer to ${method} ${path}`)
  const problem = answerProblem(answer)
  if (problem !== undefined) throw new Error(problem)
  return JSON.parse(answer.body.toString("utf8")) as unknown
}

const strangeSessions = async (operator: Operator, live: LiveSessions): Promise<ReadonlyArray<string>> =>
  asObjects(at(await ask(operator, "GET", "sessions"), "items"))
    .map((item) => asString(at(item, "spec", "session", "id")) ?? "")
    .filter((id) => !live.ids.has(id))

/** The state to which operators come back. */
export interface Base {
  readonly vitals: ReadonlyMap<string, Vitals>
}

const operatorsOf = ({ member, primary }: Arena): ReadonlyArray<Operator> => [primary, member]

export const takeBase = async (arena: Arena): Promise<Base> => ({
  vitals: new Map(await Promise.all(operatorsOf(arena).map(async (one) => [one.name, await one.vitals()] as const)))
})

const isGone = (operator: Operator): ReadonlyArray<string> => [
  ...(operator.restarts() === 0
    ? []
    : [`its process has ended, ${operator.restarts()} times: ${operator.lastLines().join(" | ")}`]),
  ...operator
    .alarms()
    .slice(0, 5)
    .map((line) => `its log: ${line}`)
]

/** Waits until an operator has come back to its base; gives what has not. */
const backToBase = async (operator: Operator, base: Vitals, live: LiveSessions): Promise<ReadonlyArray<string>> => {
  for (const begun = performance.now(); ;) {
    const broken = isGone(operator)
    if (broken.length > 0) return broken
    const strange = await strangeSessions(operator, live)
    for (const id of strange) await ask(operator, "DELETE", `sessions/${id}`)
    const left = [
      ...leftovers(base, await operator.vitals()),
      ...(strange.length === 0 ? [] : [`sessions that were stopped: ${strange.join(", ")}`])
    ]
    if (left.length === 0) return []
    if (performance.now() - begun > patience) return left
    await pause(50)
  }
}

/** The problems of the arena, each a sentence. Ends what hostile input has left first. */
export const problemsOf = async (arena: Arena, base: Base, live: LiveSessions): Promise<ReadonlyArray<string>> => {
  for (const { peers } of operatorsOf(arena)) peers.cutAll()
  const found = await Promise.all(
    operatorsOf(arena).map(async (operator) => {
      const before = base.vitals.get(operator.name)
      const left =
        before === undefined ? [] : await backToBase(operator, before, live).catch((error: unknown) => [String(error)])
      return left.map((problem) => `${operator.name}: ${problem}`)
    })
  )
  return [...found.flat(), ...(await live.check())]
}

/** How the operators have grown since their base. */
export const growthOf = async (arena: Arena, base: Base): Promise<ReadonlyArray<string>> => {
  const found = await Promise.all(
    operatorsOf(arena).map(async (operator) => {
      const before = base.vitals.get(operator.name)
      return before === undefined
        ? []
        : growth(before, await operator.vitals()).map((text) => `${operator.name}: ${text}`)
    })
  )
  return found.flat()
}
