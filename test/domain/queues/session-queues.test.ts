import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { sessionQueues } from "../../../src/domain/queues/session-queues.ts"
import { readSplitConfig } from "../../../src/domain/queues/split-config-reader.ts"
import { failureOf, patterns, splitConfig, sqs } from "./split-objects.ts"

const queues = ["a", "b", "c"].map((id) => sqs(id, { env: id }))
const kafka = { id: "k", kind: "kafka", appConfig: {} }
const configuration = Result.getOrThrow(
  readSplitConfig(splitConfig({ queues: [...queues, kafka] }), new Map(), patterns)
)
/** `c` is read by another container alone. */
const place = {
  container: "app",
  variables: ["app/a", "app/b", "side/b", "side/c"].map((text) => {
    const [container = "", id = ""] = text.split("/")
    return { container, id }
  })
}
const of = (filters: Readonly<Record<string, number>>) =>
  Result.map(sessionQueues(configuration, place, new Map(Object.entries(filters))), (all) =>
    all.map(({ filter, queue }) => [queue.id, filter])
  )

describe("the queues of a session", () => {
  it.each([
    ["no filter", {}, [undefined, undefined, undefined]],
    ["one filter", { b: 1 }, [undefined, 1, undefined]],
    ["a filter for all, which leaves out queues that no program of the session reads", { "*": 0 }, [0, 0, undefined]],
    ["a filter for all and one for a queue", { "*": 0, b: 1 }, [0, 1, undefined]]
  ])("are all of the configuration with %s", (_, filters, found) => {
    expect(Result.getOrThrow(of(filters))).toEqual(["a", "b", "c"].map((id, index) => [id, found[index]]))
  })

  it.each([
    [{ a: 1, x: 1 }, 'The queue "x" is unknown: MirrordSplitConfig "splits" has the queues of SQS "a", "b", "c".'],
    [{ k: 1 }, 'The queue "k" is of the kind kafka, which this operator does not split:'],
    [
      { c: 1 },
      'The container "app" of this session does not read the queue "c", so nothing would read its messages; "side"'
    ]
  ])("refuse %j", (filters, problem) => {
    expect(failureOf(of(filters))).toContain(problem)
  })
})
