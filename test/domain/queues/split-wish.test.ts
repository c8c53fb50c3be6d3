import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  givenQueues,
  madeQueuesNote,
  readWish,
  type SplitWish,
  wishNote
} from "../../../src/domain/queues/split-wish.ts"
import { splitAnnotations } from "../../../src/domain/sessions/names.ts"
import { targetKinds } from "../../../src/domain/targets/target.ts"

const text = fc.string({ maxLength: 8 })
const wish: fc.Arbitrary<SplitWish> = fc.record({
  filters: fc
    .dictionary(
      text,
      fc.record({ attributes: fc.dictionary(text, text), program: fc.option(text, { nil: undefined }) })
    )
    .map((filters) => new Map(Object.entries(filters))),
  modes: fc.dictionary(text, fc.constantFrom("steal", "mirror")).map((modes) => new Map(Object.entries(modes))),
  workload: fc.option(
    fc.record({ kind: fc.constantFrom(...targetKinds), name: text, container: fc.option(text, { nil: undefined }) }),
    { nil: undefined }
  ),
  isAutomatic: fc.boolean(),
  isShared: fc.boolean(),
  startedAt: fc.option(fc.nat(), { nil: undefined }),
  sessionKey: fc.option(text, { nil: undefined })
})

describe("the wish for a split", () => {
  it("comes to the other cluster as it was", () =>
    fc.assert(
      fc.property(wish, (sent) => {
        expect(readWish({ annotations: wishNote(sent) })).toEqual(sent)
      })
    ))

  it.each([undefined, "", "{}", "[]", '{"filters":{"a":{}}}'])("is none in %s", (note) =>
    expect(readWish({ annotations: note === undefined ? {} : { [splitAnnotations.wish]: note } })).toBeUndefined()
  )

  it("gets the queues of the default cluster by another annotation than they were told in", () => {
    const queues = [{ id: "a", original: "https://x/orders", queue: "https://x/mirrord-1" }]
    const note = madeQueuesNote(queues)
    expect(givenQueues({ annotations: note })).toBeUndefined()
    expect(givenQueues({ annotations: { [splitAnnotations.given]: note[splitAnnotations.made] ?? "" } })).toEqual(
      queues
    )
  })
})
