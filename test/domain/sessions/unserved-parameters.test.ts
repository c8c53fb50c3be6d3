import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parameterNames } from "../../../src/domain/sessions/connect-parameter-catalogue.ts"
import { parseConnectQuery } from "../../../src/domain/sessions/connect-request.ts"
import { type ServedFeatures, unservedFeatures } from "../../../src/domain/sessions/unserved-parameters.ts"
import { parameterRows, split } from "../../support/connect-parameters.ts"

const none: ServedFeatures = { branches: false, sqs: false, isLink: false }
const refusals = (
  entries: ReadonlyArray<readonly [string, string]>,
  served: Partial<ServedFeatures> = {}
): ReadonlyArray<string> => {
  const query = new URLSearchParams(entries.map(([name, value]): [string, string] => [name, value])).toString()
  return unservedFeatures(Result.getOrThrow(parseConnectQuery(query)), { ...none, ...served })
}

describe("features that the operator does not serve", () => {
  it.each(parameterNames.map((name) => [name, ...parameterRows[name]] as const))("%s=%s: %s", (name, value, told) => {
    const found = refusals([[name, value]])
    expect(found).toHaveLength(told === undefined ? 0 : 1)
    if (told !== undefined) expect(found[0]).toContain(`does not serve ${told} (connect parameter ${name})`)
  })

  it("are told with what would happen, and where to turn them off", () => {
    expect(refusals([["rmq_splits", split]])).toEqual([
      "This operator does not serve queue splitting for RabbitMQ (connect parameter rmq_splits): without it the " +
        "program would read messages of everybody. Take it out of feature.split_queues."
    ])
  })

  it.each([
    ["nats_splits", split, "queue splitting", "messages of everybody", "feature.split_queues"],
    ["nats_jq_filters", '{"orders":".user"}', "queue splitting", "messages of everybody", "feature.split_queues"],
    ["grpc_filters", "user=ann", "a filter", "what others are to get", "the configuration"],
    ["neo4j_branch_names", '["ann-branch"]', "database branches", "the real database", "feature.db_branches"]
  ])(
    "are asked for by %s of a newer client too, with every feature served",
    (name, value, feature, danger, setting) => {
      const [sentence, ...others] = refusals([[name, value]], { branches: true, sqs: true, isLink: true })
      expect(others).toEqual([])
      expect(sentence).toContain(`does not know the connect parameter "${name}", by which a newer client asks for`)
      for (const part of [feature, danger, setting, "or have the operator upgraded"]) expect(sentence).toContain(part)
    }
  )

  it("are not asked for by other names of the future, nor by values that say nothing", () => {
    const quiet = [
      ["of_the_future", "1"],
      ["splits", split],
      ["nats_splits_v2", split],
      ["nats_splits", "{}"],
      ["neo4j_branch_names", "[]"],
      ["grpc_filters", ""]
    ] as const
    expect(refusals(quiet)).toEqual([])
    expect(
      refusals([
        ["nats_jq_filters", '{"*":".a"}'],
        ["up_session_info", '{"autoQueueSplitting":true}']
      ])
    ).toEqual([])
  })

  it("are told once each, with all parameters that ask for them", () => {
    const found = refusals([
      ["pg_branch_names", '["ann-branch"]'],
      ["sqs_jq_filters", '{"orders":".user"}'],
      ["branch_db_names", '["ann-branch"]']
    ])
    expect(found).toHaveLength(2)
    expect(found.join(" ")).toContain("database branches (connect parameter pg_branch_names, branch_db_names)")
  })

  it("are told by the name of the queues where another parameter has it", () => {
    const modes = ["queue_modes", '{"orders":"mirror"}'] as const
    expect(refusals([modes, ["sqs_splits", split]])).toEqual(refusals([["sqs_splits", split]]))
    expect(refusals([modes, ["pg_branch_names", '["ann-branch"]']])).toHaveLength(2)
  })

  it("are not asked for by empty lists and maps", () => {
    const empty: ReadonlyArray<readonly [string, string]> = [
      ["sqs_splits", "{}"],
      ["pg_branch_names", "[]"],
      ["output_tmp_resources", "[]"]
    ]
    expect(refusals(empty)).toEqual([])
  })

  it("are left out in silence where `mirrord up` asks for any queue, and only there", () => {
    const any = '{"*":".a"}'
    const up = ["up_session_info", '{"autoQueueSplitting":true}'] as const
    expect(refusals([["sqs_jq_filters", any], up])).toEqual([])
    expect(refusals([["sqs_jq_filters", any]])).toHaveLength(1)
    expect(refusals([["sqs_jq_filters", '{"*":".a","orders":".b"}'], up])).toHaveLength(1)
    expect(refusals([["queue_modes", '{"*":"mirror"}'], up])).toEqual([])
  })

  it("are not the branches of an operator that serves some", () => {
    const branch = ["mongodb_branch_names", '["ann-branch"]'] as const
    expect(refusals([branch], { branches: true })).toEqual([])
    expect(refusals([branch, ["rmq_splits", split]], { branches: true })).toEqual(refusals([["rmq_splits", split]]))
    expect(refusals([branch], { sqs: true, isLink: true })).toHaveLength(1)
  })

  describe("where queues of SQS are split", () => {
    const user = ["sqs_splits", "sqs_jq_filters", "queue_modes"]
    const link = [...user, "sqs_output_queues", "output_tmp_resources"]

    it.each([
      [{ sqs: true }, user],
      [{ sqs: true, isLink: true }, link],
      [{ isLink: true }, []]
    ])("%j: %j are served, and all others of splits are not", (served, names) => {
      const changed = parameterNames.filter(
        (name) =>
          refusals([[name, parameterRows[name][0]]], served).length !==
          refusals([[name, parameterRows[name][0]]]).length
      )
      expect(changed.toSorted()).toEqual(names.toSorted())
    })

    it("those of another broker are refused by its name, with their modes", () => {
      const found = refusals(
        [
          ["sqs_splits", split],
          ["kafka_splits", '{"events":{}}'],
          ["queue_modes", '{"events":"mirror"}']
        ],
        { sqs: true }
      )
      expect(found).toEqual(refusals([["kafka_splits", split]]))
    })

    it.each(["topic", "subscription", "channel", "taskQueue"])(
      "a %s that another cluster has made is refused",
      (role) => {
        const made = (queues: object) =>
          refusals([["output_tmp_resources", JSON.stringify([{ queueId: "a", ...queues }])]], {
            sqs: true,
            isLink: true
          })
        expect(made({ queue: { a: "b" }, [role]: {} })).toEqual([])
        expect(made({ queue: { a: "b" }, [role]: { a: "b" } })).toHaveLength(1)
      }
    )
  })

  it("do not depend on the order of the parameters", () => {
    const entries = Object.entries(parameterRows).map(([name, [value]]): [string, string] => [name, value])
    const all = refusals(entries)
    expect(all).toHaveLength(10)
    fc.assert(
      fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
        expect(refusals(shuffled)).toEqual(all)
      })
    )
  })
})
