import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { migrationDigest, readMigrations } from "../../../../src/domain/branches/migrations/migration-request.ts"

const read = (spec: object) => Result.getOrThrow(readMigrations({ ...spec }))
const problem = (spec: object) => Result.getOrThrow(Result.flip(readMigrations({ ...spec })))

const left = { command: ["x"], args: ["y"], env: { A: "1" } }

describe("the migrations of a branch", () => {
  it("are an archive, locations in an image, or a program", () => {
    expect(read({ flavor: "flyway", archive: "aGk=", image: null, locations: null })).toEqual({
      _tag: "Archive",
      archive: "aGk=",
      image: undefined
    })
    expect(read({ flavor: "flyway", locations: ["filesystem:/sql"], image: "a:1" })).toEqual({
      _tag: "Locations",
      locations: ["filesystem:/sql"],
      image: "a:1"
    })
    expect(read({ flavor: "container", image: "a:1" })).toEqual({
      _tag: "Container",
      image: "a:1",
      command: undefined,
      args: undefined,
      env: {}
    })
  })

  it("have only the keys of their own flavor, whatever an earlier session has left", () => {
    expect(read({ flavor: "flyway", archive: "aGk=", ...left })).toEqual(read({ flavor: "flyway", archive: "aGk=" }))
    const program = { flavor: "container", image: "a:1", ...left }
    expect(read({ ...program, archive: 5, locations: "x" })).toEqual(read(program))
  })

  it.each([
    ["no flavor", {}, 'spec.migrations.flavor is "undefined"; it must be flyway or container.'],
    ["another flavor", { flavor: "liquibase" }, 'spec.migrations.flavor is "liquibase"'],
    ["both kinds of files", { flavor: "flyway", archive: "aGk=", locations: ["a"] }, "stop the branch"],
    ["an archive that is none", { flavor: "flyway", archive: "&" }, "is no base64"],
    ["an archive that is no text", { flavor: "flyway", archive: 5 }, "is no base64"],
    ["an archive cut off", { flavor: "flyway", archive: "aGk" }, "is no base64"],
    ["no files", { flavor: "flyway" }, "needs the files of Flyway"],
    ["an empty location", { flavor: "flyway", image: "a", locations: [""] }, "needs the files of Flyway"],
    ["locations in no image", { flavor: "flyway", locations: ["a"] }, "must be the image that has the locations"],
    ["locations that are no list", { flavor: "flyway", locations: "a" }, "locations must be a list of texts"],
    ["an image that is no text", { flavor: "flyway", archive: "aGk=", image: 5 }, "image must be text"],
    ["no image", { flavor: "container" }, "must be the image that runs the migrations"],
    ["a command that is no list", { flavor: "container", image: "a", command: "x" }, "command must be a list"],
    ["arguments that are no texts", { flavor: "container", image: "a", args: [1] }, "args must be a list of texts"],
    ["an environment of no texts", { flavor: "container", image: "a", env: { A: 1 } }, "env must be a map of texts"],
    ["a bad variable", { flavor: "container", image: "a", env: { "A B": "" } }, 'names "A B", which is no name']
  ])("are refused for %s", (_, spec, sentence) => {
    const told = problem(spec)
    expect(told).toContain(sentence)
    expect(told).toMatch(/^spec\.migrations[^\n]*\.$/u)
  })

  it("may have an archive of 1 MiB, and no larger one", () => {
    const archive = (bytes: number) => Buffer.alloc(bytes).toString("base64")
    expect(read({ flavor: "flyway", archive: archive(1_048_576) })._tag).toBe("Archive")
    expect(problem({ flavor: "flyway", archive: archive(1_048_577) })).toContain("longer than 1 MiB")
  })

  it("are the same in any order of their parts, and others with any other part", () => {
    const parts = fc.record({
      image: fc.string(),
      command: fc.option(fc.array(fc.string()), { nil: null }),
      args: fc.option(fc.array(fc.string()), { nil: null }),
      env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,3}$/u), fc.string())
    })
    const digest = (spec: object) => migrationDigest(read({ flavor: "container", ...spec }), sha256Hex)
    fc.assert(
      fc.property(parts, fc.string(), (spec, other) => {
        const clean = JSON.parse(JSON.stringify(spec).replaceAll(String.raw`\u0000`, "")) as typeof spec
        const turned = Object.fromEntries(Object.entries(clean).toReversed())
        const env = Object.fromEntries(Object.entries(clean.env).toReversed())
        expect(digest({ ...turned, env })).toBe(digest(clean))
        expect(migrationDigest({ _tag: "Archive", archive: other, image: clean.image }, sha256Hex)).toBe(
          migrationDigest({ image: clean.image, archive: other, _tag: "Archive" }, sha256Hex)
        )
      })
    )
    const whole = (archive: string, image?: string) => migrationDigest({ _tag: "Archive", archive, image }, sha256Hex)
    expect(whole("a")).not.toBe(whole("b"))
    expect(whole("a")).not.toBe(whole("a", "c"))
  })
})
