/** Nothing in silence: an operator serves what a connect parameter asks for, or the connect hears why it does not. */

import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parameterNames, type ConnectParameterName } from "../../../src/domain/sessions/connect-parameter-catalogue.ts"
import { parameterRows } from "../../support/connect-parameters.ts"
import { request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, startWorld } from "../../support/memory-session.ts"
import type { MemoryCluster } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

/** The beginning of the refusal of a parameter; `undefined` if the parameter is served. */
const expected = (name: ConnectParameterName, isManagementOnly: boolean): string | undefined => {
  const [, told] = parameterRows[name]
  if (told !== undefined) return `This operator does not serve ${told} (connect parameter ${name}): without it the`
  return name === "label_target" && isManagementOnly ? "This cluster only manages sessions" : undefined
}

const sessionsOf = ({ api }: MemoryCluster) => [
  ...api.peekAll(mirrordMultiClusterSessions),
  ...api.peekAll(mirrordClusterSessions)
]

/** Connects with one parameter as its user's settings make it: the refusal's code and sentence, or `Served`. */
const connecting = Effect.fnUntraced(function* (
  cluster: MemoryCluster,
  certificate: string,
  name: ConnectParameterName,
  sessionId: string
) {
  const query = new URLSearchParams({ connect: "true", [name]: parameterRows[name][0] }).toString()
  const target = name === "label_target" ? "label" : "deployment.myapp"
  const before = sessionsOf(cluster).length
  const answer = yield* connectTo(cluster, request(certificate, { sessionId, target, query }))
  const made = sessionsOf(cluster).length - before
  if (Result.isSuccess(answer)) return made === 1 ? "Served" : `Served with ${made} sessions`
  const { failure } = answer
  return failure._tag === "ApiError" && made === 0 ? `${failure.code} ${failure.message}` : "Refused without a Status"
})

describe("connect parameters", () => {
  it.effect.each([
    ["a member", false],
    ["a management-only primary", true]
  ] as const)("are served by %s one by one, or refused with a sentence", function* ([, isManagementOnly]) {
    const { world } = yield* startWorld()
    const cluster = isManagementOnly ? world.primary : memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    for (const [index, name] of parameterNames.entries()) {
      const answer = yield* Effect.scoped(connecting(cluster, certificate, name, String(index + 1)))
      const refusal = expected(name, isManagementOnly)
      if (refusal === undefined) assert.strictEqual(answer, "Served", name)
      else assert.isTrue(answer.startsWith(`400 ${refusal}`), `${name}: ${answer}`)
    }
  })
})
