/** Requests that bring values for database branches, at an operator of one cluster. */

import { assert, describe } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { memoryCluster, startSingleOperator } from "../../support/memory-world.ts"

const body = { namespace: "default", branch_id: "b", values: { DB_PASSWORD: "s3cret" } }
const settings = { branchSettings: { pg: readEngineSettings("pg", { _tag: "Absent" }, {}) } }

/** The answer to a request, and all lines of the log until then. */
const answered = Effect.fnUntraced(function* (
  user: string,
  sent: unknown,
  limits: Parameters<typeof startSingleOperator>[1]
) {
  const lines: Array<string> = []
  const cluster = memoryCluster("a")
  cluster.trusted.add("ann")
  const answer = yield* Effect.gen(function* () {
    yield* startSingleOperator(cluster, limits)
    yield* pass("1 second")
    const { operator } = cluster
    if (operator === undefined) return yield* Effect.die("no operator")
    const caller = { user, groups: ["developers"], extra: {} }
    const given = { caller, body: sent, clientName: "Ann", clientHostname: "laptop" }
    return yield* Effect.match(operator.takeCredentials(given), {
      onFailure: ({ code, message }) => `${code}: ${message}`,
      onSuccess: (object) => object
    })
  }).pipe(Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])))
  return { answer, told: lines.join("\n") }
})

describe("values for a database branch", () => {
  it.effect("are answered with the name of their Secret, and are in no log", function* () {
    const { answer, told } = yield* answered("ann", body, settings)
    assert.match((answer as { readonly secret_name: string }).secret_name, /^mirrord-branch-values-[0-9a-f]{32}$/u)
    assert.notInclude(told, "s3cret")
  })

  it.effect.each([
    ["of a caller who may make none", "bob", body, settings, /^403: bob may not create branchdatabases\.dbs/u],
    ["that cannot be read", "ann", { ...body, branch_id: 1 }, settings, /^400: branch_id has 0 characters/u],
    ["of an operator without branches", "ann", body, {}, /^404: This operator has no database branches made: /u]
  ] as const)("%s are refused, and the log says so without them", function* ([, user, sent, limits, sentence]) {
    const { answer, told } = yield* answered(user, sent, limits)
    assert.match(String(answer), sentence)
    assert.include(told, '"act":"refused"')
    assert.include(told, `"user":"${user}"`)
    assert.notInclude(told, "s3cret")
  })
})
