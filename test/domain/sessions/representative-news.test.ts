import { describe, expect, it } from "vitest"
import { type Representative, representativeNews } from "../../../src/domain/sessions/representative-news.ts"

const news = (changes: Partial<Representative>): ReadonlyArray<string> =>
  representativeNews({
    pod: "myapp-1",
    placement: { containerName: "app", guessed: true },
    before: undefined,
    isUser: false,
    ...changes
  })

describe("the news about a session's representative", () => {
  it("tell of a container that nobody named, to the user of many clusters and once", () => {
    expect(news({})).toEqual(["No container was named: container app of pod myapp-1 was chosen."])
    expect(news({ isUser: true })).toEqual([])
    expect(news({ before: "myapp-1" })).toEqual([])
    expect(news({ placement: { containerName: "app", guessed: false } })).toEqual([])
    expect(news({ placement: undefined })).toEqual([])
  })

  it("tell of another pod to every user", () => {
    const told = ["Pod myapp-1 serves the session now instead of pod myapp-0."]
    expect(news({ before: "myapp-0" })).toEqual(told)
    expect(news({ before: "myapp-0", isUser: true })).toEqual(told)
  })
})
