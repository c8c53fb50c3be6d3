import { describe, expect, it } from "vitest"
import {
  beginningFields,
  kindOf,
  peopleFields,
  type PeopleOutcome,
  type PeopleRequest
} from "../../../src/domain/outbound/people-audit.ts"

const request: PeopleRequest = {
  id: "id",
  cluster: "b",
  person: { user: "ann", uid: "u1", groups: ["dev"] },
  verb: "get",
  isUpgrade: false,
  isLasting: false,
  path: "/api"
}
const outcome: PeopleOutcome = { code: 200, bytes: 5 }
const asked = {
  audit: true,
  act: "proxied",
  request: "id",
  cluster: "b",
  user: "ann",
  uid: "u1",
  groups: ["dev"],
  verb: "get",
  upgrade: false,
  path: "/api"
}

describe("the audit line of a person's request", () => {
  it("says who asked for what, and what came of it", () =>
    expect(peopleFields(request, outcome, 2.6)).toEqual({
      ...asked,
      stage: "ResponseComplete",
      decision: "allowed",
      code: 200,
      bytes: 5,
      ms: 3
    }))

  it("says before an end who begins what, and no more", () =>
    expect(beginningFields(request)).toEqual({ ...asked, stage: "RequestReceived" }))

  it("names what the member has left out", () =>
    expect(
      peopleFields(
        { ...request, as: { user: "p:ann", groups: [], extra: {}, dropped: { groups: ["a"], extraKeys: [] } } },
        outcome,
        0
      )
    ).toMatchObject({ as: "p:ann", droppedGroups: ["a"] }))

  it.each<readonly [Partial<PeopleOutcome>, string]>([
    [{ code: 403 }, "denied"],
    [{ code: 401 }, "denied"],
    [{ code: 503, isRefused: true }, "denied"],
    [{ code: 404 }, "allowed"],
    [{ code: undefined }, "allowed"],
    [{ code: 101 }, "allowed"]
  ])("with %j says %s", (change, decision) =>
    expect(peopleFields(request, { ...outcome, ...change }, 0)["decision"]).toBe(decision)
  )

  it("keeps the texts of others within their fields, short", () => {
    const long = { ...request, path: `/${"x".repeat(9_000)}`, person: { user: "a\nb", groups: Array(99).fill("g") } }
    const fields = peopleFields(long, { ...outcome, why: "a\r" }, 0)
    expect(fields).toMatchObject({ user: "a\\u000ab", why: "a\\u000d" })
    expect(String(fields["path"]).length).toBeLessThanOrEqual(1_024)
    expect(fields["groups"]).toHaveLength(51)
  })
})

describe("a person's request is counted as", () => {
  it.each<readonly [Partial<PeopleRequest>, string]>([
    [{}, "read"],
    [{ isLasting: true }, "watch"],
    [{ verb: "delete" }, "write"],
    // Such as the deletion of a collection with `watch` in its query.
    [{ verb: "delete", isLasting: true }, "write"],
    [{ verb: "create", isUpgrade: true, isLasting: true }, "connect"]
  ])("%j: %s", (change, kind) => expect(kindOf({ ...request, ...change })).toBe(kind))
})
