import { expect, it } from "vitest"
import { wishNote } from "../../../src/domain/queues/split-wish.ts"
import { unsplitQueues } from "../../../src/domain/queues/unsplit-queues.ts"
import { place, wantedSplit } from "../../support/queue-split.ts"

const told = (...ids: ReadonlyArray<string>): string | undefined => {
  const filters = new Map(ids.map((id) => [id, { attributes: {}, program: undefined }]))
  const { given: _, ...wish } = wantedSplit(place, filters)
  return unsplitQueues({ annotations: wishNote({ ...wish, workload: undefined }) })?.split(":")[0]
}

it.each([
  [["orders"], 'The queue "orders" is not split there'],
  [["orders", "refunds"], 'The queues "orders", "refunds" are not split there'],
  [["orders", "*"], "Its queues are not split there"]
])("the warning about a cluster that does not split %j names them", (ids, sentence) => {
  expect(told(...ids)).toBe(sentence)
})

it("there is no such warning about a session that splits none", () => {
  expect(unsplitQueues({})).toBeUndefined()
})
