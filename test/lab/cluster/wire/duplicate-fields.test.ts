import { describe, expect, it } from "vitest"
import { duplicateFields } from "../../../../lab/cluster/wire/duplicate-fields.ts"

describe("duplicate fields", () => {
  it("are found at any depth, each once, and not across objects", () => {
    expect(duplicateFields('{"a":{"x":1,"x":2},"b":[{"y":1},{"y":1,"z":{},"y":2,"y":3}],"a":{}}')).toEqual([
      "a.x",
      "b[1].y",
      "a"
    ])
    expect(duplicateFields('[1,{"k":1,"k":1}]')).toEqual(["[1].k"])
  })

  it("are not texts that look like fields", () => {
    expect(
      duplicateFields('{"a":"{\\"a\\":1,\\"a\\":2}","b":["a","a",","],"c":"a\\\\","d":{"a":":","b":"a"}}')
    ).toEqual([])
    expect(duplicateFields("5")).toEqual([])
  })

  it("are the same however they are written", () => {
    expect(duplicateFields(String.raw`{"ab":1,"a\u0062":2}`)).toEqual(["ab"])
  })
})
