import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { imageProblem, imagesOf, isImagePattern } from "../../../src/domain/branches/branch-image.ts"

describe("an image of a user's", () => {
  it("is refused if it is none, or if nobody allowed it", () => {
    expect(imageProblem("spec.image", "ghcr.io/team/postgres:16", ["*"])).toBeUndefined()
    expect(imageProblem("spec.image", "ghcr.io/team/postgres:16", ["docker.io/*", "ghcr.io/team/*"])).toBeUndefined()
    expect(imageProblem("spec.image", "ghcr.io/other/x", ["ghcr.io/team/*"])).toBe(
      'spec.image is "ghcr.io/other/x", which this operator does not allow: allowed are "ghcr.io/team/*".'
    )
    expect(imageProblem("spec.image", "x", [])).toContain("users may name no image")
    for (const none of ["$(reboot)", "docker.io/library/postgres:1/evil/x:1"])
      expect(imageProblem("spec.image", none, ["*"])).toContain("it must be an image such as")
  })

  it.each([
    "*/postgres:*",
    "*postgres*",
    "docker.io*/library/x",
    "docker?io/x",
    "postgres:*",
    "library/postgres",
    "a.b/"
  ])("is matched by no pattern that leaves the registry open: %s", (pattern) =>
    expect(isImagePattern(pattern)).toBe(false)
  )

  it("comes from the registry that its pattern names, whatever the pattern is", () => {
    const text = fc.string({ unit: fc.constantFrom(..."ab.:/*?@-"), minLength: 1, maxLength: 12 })
    const pattern = fc
      .tuple(fc.constantFrom("docker.io/", "localhost:5000/", "", "*"), text)
      .map((both) => both.join(""))
    const image = fc.tuple(fc.constantFrom("docker.io/", "evil.io/", "evil.io/docker.io/", "docker.io.evil/"), text)
    fc.assert(
      fc.property(pattern, image, (allowed, [start, rest]) => {
        if (allowed === "*" || !isImagePattern(allowed)) return
        if (imageProblem("f", start + rest, [allowed]) !== undefined) return
        expect((start + rest).split("/")[0]).toBe(allowed.split("/")[0])
      })
    )
  })

  it("is one of a repository by its name, its tag or its digest, and no other repository's", () => {
    const digest = `sha256:${"a".repeat(64)}`
    const isOf = (image: string) => imageProblem("f", image, imagesOf("docker.io/library/postgres")) === undefined
    const own = ["", ":17", `@${digest}`, `:17@${digest}`].map((end) => isOf(`docker.io/library/postgres${end}`))
    expect(own).toEqual([true, true, true, true])
    const others = ["-x", "/x", "x:1", ":1/x"].map((end) => isOf(`docker.io/library/postgres${end}`))
    expect(others).toEqual([false, false, false, false])
  })
})
