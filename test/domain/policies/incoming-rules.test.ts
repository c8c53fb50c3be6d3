import { describe, expect, it } from "vitest"
import { forbiddenMirror, forbiddenSteal, profileProblem } from "../../../src/domain/policies/incoming-rules.ts"
import type { HttpFilter, StealType } from "../../../src/domain/protocol/http-filter-messages.ts"
import { policy } from "./policies.ts"

const whole: StealType = { _tag: "All", value: 80 }
const header = (value: string): HttpFilter => ({ _tag: "Header", value })
const path: HttpFilter = { _tag: "Path", value: "/api" }
const all = (...filters: ReadonlyArray<HttpFilter>): HttpFilter => ({ _tag: "Composite", all: true, filters })
const any = (...filters: ReadonlyArray<HttpFilter>): HttpFilter => ({ _tag: "Composite", all: false, filters })
const filtered = (filter: HttpFilter): StealType => ({ _tag: "FilteredHttpEx", port: 80, filter })

describe("stealing", () => {
  it("is forbidden altogether by `steal`, with the name of the policy", () => {
    const policies = [policy({ block: ["steal"] }, "no-steal")]
    for (const steal of [whole, filtered(header("a: b"))])
      expect(forbiddenSteal(policies, steal)).toEqual({ policy: "no-steal", reason: "it blocks stealing" })
  })

  it.each([
    [whole, true],
    [{ _tag: "FilteredHttp", port: 80, filter: ".*" }, false],
    [filtered(path), false],
    [filtered(all()), true],
    [filtered(any(all(), any())), true],
    [filtered(any(all(), path)), false]
  ] as ReadonlyArray<readonly [StealType, boolean]>)("without a filter is %j: %s", (steal, isForbidden) =>
    expect(forbiddenSteal([policy({ block: ["steal-without-filter"] })], steal) !== undefined).toBe(isForbidden)
  )

  const [mine, other] = [header("x-user: ann"), header("x-team: a")]
  it.each([
    [whole, false],
    [{ _tag: "FilteredHttp", port: 80, filter: "x-user: ann" }, true],
    [filtered(mine), true],
    [filtered(header("X-User: ann")), false],
    [filtered(header("^x-user: .*ann.*")), true],
    [filtered(header("^^x-user: ann")), false],
    [filtered(path), false],
    [filtered(all(mine, path)), true],
    [filtered(all(mine, other)), true],
    [filtered(all(other)), false],
    [filtered(any(mine, path)), true],
    [filtered(any(mine, other)), true],
    [filtered(any(other, path)), false],
    [filtered(any(path)), false],
    [filtered(any(mine, all(other, mine))), true],
    [filtered(header(`x-user: ${"a".repeat(10_000)}`)), false]
  ] as ReadonlyArray<readonly [StealType, boolean]>)("with a wanted filter: %j is allowed: %s", (steal, allowed) => {
    const wanted = policy({ network: { incoming: { httpFilter: { headerFilter: "^x-user: " } } } })
    expect(forbiddenSteal([wanted], steal) === undefined).toBe(allowed)
  })

  it("says nothing about mirroring, and `mirror` nothing about stealing", () => {
    expect(forbiddenMirror([policy({ block: ["steal", "steal-without-filter"] })])).toBeUndefined()
    expect(forbiddenSteal([policy({ block: ["mirror"] })], whole)).toBeUndefined()
    const found = forbiddenMirror([policy({ block: ["mirror"] }, "m")])
    expect(found).toEqual({ policy: "m", reason: "it blocks mirroring" })
  })
})

describe("the profile of a session", () => {
  it("must be there if any policy wants one, and in all lists", () => {
    const wanted = policy({ requireProfile: true }, "wants")
    const listed = policy({ profileAllowlist: ["a", "ns/b"] }, "lists")
    const other = policy({ profileAllowlist: ["a"] }, "lists-too")
    expect(profileProblem([listed], undefined)).toBeUndefined()
    expect(profileProblem([wanted], "anything")).toBeUndefined()
    expect(profileProblem([wanted, listed], undefined)).toContain('policy "wants" wants every session')
    expect(profileProblem([wanted, listed], "a")).toBeUndefined()
    expect(profileProblem([listed], "b")).toBe(
      'The mirrord policy "lists" does not allow profile "b" for this target (allowed: "a", "ns/b"); set another ' +
        "profile in your mirrord configuration, or ask an administrator."
    )
    expect(profileProblem([listed, other], "ns/b")).toContain('"lists-too"')
    expect(profileProblem([policy({ profileAllowlist: [] })], "a")).toContain("none is allowed")
  })
})
