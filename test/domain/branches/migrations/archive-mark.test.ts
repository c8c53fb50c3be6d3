import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { archiveMark, archiveProblem, isArchiveMark } from "../../../../src/domain/branches/migrations/archive-mark.ts"
import { maxArchiveText } from "../../../../src/domain/resources/branches/branch-shapes.ts"

const ofBytes = (bytes: number): string => Buffer.alloc(bytes, 7).toString("base64")

describe("the mark of an archive", () => {
  it("is the same for the same text alone, stands for itself, and is no archive", () => {
    fc.assert(
      fc.property(fc.base64String(), fc.string(), (one, other) => {
        const mark = archiveMark(one, sha256Hex)
        expect(isArchiveMark(mark)).toBe(true)
        expect(archiveMark(mark, sha256Hex)).toBe(mark)
        expect(mark === archiveMark(other, sha256Hex)).toBe(one === other)
      })
    )
  })

  it.each([
    ["an archive", ofBytes(100), undefined],
    ["the longest archive", ofBytes(1_048_576), undefined],
    ["an archive that is too long", ofBytes(1_048_577), "longer than 1 MiB"],
    ["no base64", "a:b", "no base64"],
    ["an empty text", "", "no base64"]
  ])("has the problem of %s", (_what, text, problem) => {
    for (const one of [text, archiveMark(text, sha256Hex)])
      expect(archiveProblem(one)).toEqual(problem === undefined ? undefined : expect.stringContaining(problem))
  })

  it("knows the length of the longest archive's text", () => expect(ofBytes(1_048_576)).toHaveLength(maxArchiveText))
})
