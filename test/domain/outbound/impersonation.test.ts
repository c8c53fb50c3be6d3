import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { callerFrom, defaultHeaders } from "../../../src/domain/fleet/credentials/front-proxy.ts"
import {
  impersonationHeaders,
  impersonationOf,
  type PeopleRules,
  reservedGroup
} from "../../../src/domain/outbound/impersonation.ts"
import { type Person, readPerson, writePerson } from "../../../src/domain/outbound/person.ts"

const rules: PeopleRules = { groups: ["dev", "ops"], extraKeys: ["example.com/team"], prefix: "primary:" }
const ann: Person = { user: "ann", uid: "u1", groups: ["dev", "system:authenticated"], extra: {} }
const of = (person: Partial<Person>, given: Partial<PeopleRules> = {}) =>
  impersonationOf({ ...ann, ...person }, { ...rules, ...given })

const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
const person: fc.Arbitrary<Person> = fc.record({
  user: name,
  groups: fc.array(fc.oneof(name, fc.constantFrom("dev", "ops", "system:masters", "system:authenticated"))),
  extra: fc.dictionary(fc.oneof(name, fc.constantFrom("example.com/team", "scopes")), fc.array(name), { maxKeys: 3 })
})

describe("a person in a member", () => {
  it("has names under the prefix, and of groups and extras those that are listed", () =>
    expect(
      of({
        groups: ["dev", "qa", "ops", "dev", "system:authenticated"],
        extra: { "example.com/team": ["a"], b: ["c"] }
      })
    ).toEqual(
      Result.succeed({
        user: "primary:ann",
        uid: "u1",
        groups: ["primary:dev", "primary:ops"],
        extra: { "example.com/team": ["a"] },
        dropped: { groups: ["qa"], extraKeys: ["b"] }
      })
    ))

  it.each<readonly [Partial<Person>, Partial<PeopleRules>, string]>([
    [{}, { groups: [] }, "takes no requests of people"],
    [{ groups: ["system:authenticated"] }, {}, 'user "ann" is in none of the groups that this cluster lets in: "dev"'],
    [{ groups: ["DEV"] }, {}, "is in none of the groups"],
    [{ user: "system:admin" }, { prefix: "-" }, 'user "system:admin" is this cluster\'s own'],
    [{ user: "system:node:a" }, { prefix: "-" }, "is this cluster's own"],
    [{ user: "system:serviceaccount:mirrord:mirrord-operator" }, { prefix: "-" }, "is this cluster's own"],
    [{ user: "kube-scheduler" }, { prefix: "system:" }, 'user "system:kube-scheduler" is this cluster\'s own'],
    [{ groups: ["system:masters"] }, { groups: ["system:masters"], prefix: "-" }, 'group "system:masters"'],
    [{ user: "a\nb" }, {}, "cannot be written in a header"],
    [{ user: "a " }, {}, "cannot be written in a header"],
    [{ uid: "" }, {}, "cannot be written in a header"],
    [{ extra: { "example.com/team": [" a"] } }, {}, "cannot be written in a header"]
  ])("%j under %j is not let in", (who, given, why) =>
    expect(of(who, given)).toMatchObject({ failure: expect.stringContaining(why) })
  )

  it("may be every authenticated one", () => {
    const everyone = of({}, { groups: ["system:authenticated"], prefix: "-" })
    expect(impersonationHeaders(Result.getOrThrow(everyone))).toEqual([
      ...["impersonate-user", "ann", "impersonate-uid", "u1"]
    ])
  })

  it("is never a name that the cluster keeps for itself", () =>
    fc.assert(
      fc.property(person, fc.constantFrom("-", "system:", "primary:"), (who, prefix) => {
        const found = impersonationOf(who, { groups: ["dev", "system:masters", "masters"], extraKeys: [], prefix })
        if (Result.isFailure(found)) return
        for (const one of [found.success.user, ...found.success.groups])
          expect(one.startsWith("system:") && one !== "system:authenticated").toBe(false)
      })
    ))

  it("arrives at an API server as it was meant", () =>
    fc.assert(
      fc.property(person, (who) => {
        const found = impersonationOf(who, rules)
        if (Result.isFailure(found)) return
        const headers = new Map<string, Array<string>>()
        const raw = impersonationHeaders(found.success)
        for (let at = 0; at < raw.length; at += 2) {
          const [header = "", value = ""] = raw.slice(at, at + 2)
          expect(header).toMatch(/^[!#$%&'*+.^_`|~0-9a-z-]+$/u)
          const remote = header.replace("impersonate-", "x-remote-")
          headers.set(remote, [...(headers.get(remote) ?? []), value.replace(/^[ \t]+|[ \t]+$/g, "")])
        }
        const { extra, groups, user } = found.success
        expect(callerFrom(Object.fromEntries(headers), defaultHeaders)).toMatchObject({
          success: {
            user,
            groups,
            extra: Object.fromEntries(Object.entries(extra).filter(([, all]) => all.length > 0))
          }
        })
      })
    ))

  it("passes the tunnel unchanged, in ASCII", () =>
    fc.assert(
      fc.property(person, (who) => {
        const text = writePerson(who)
        expect(text).toMatch(/^[ -~]*$/u)
        expect(readPerson(text)).toEqual(Result.succeed(who))
      })
    ))

  it.each([undefined, "", "{}", '{"user":""}', '{"user":"a","groups":"dev","extra":{}}', "[1]"])(
    "is nobody if the tunnel says %j",
    (text) => expect(readPerson(text)).toMatchObject({ failure: "the header braid-user names no user" })
  )

  it("can be of a listed group unless the cluster keeps it", () => {
    expect(reservedGroup(rules)).toBeUndefined()
    expect(reservedGroup({ groups: ["system:authenticated"], prefix: "-" })).toBeUndefined()
    expect(reservedGroup({ groups: ["dev", "system:nodes"], prefix: "-" })).toBe("system:nodes")
    expect(reservedGroup({ groups: ["masters"], prefix: "system:" })).toBe("masters")
  })
})
