import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  callerFrom,
  isAllowedName,
  readFrontProxy,
  defaultHeaders
} from "../../../../src/domain/fleet/credentials/front-proxy.ts"

const data = {
  "requestheader-client-ca-file": "PEM",
  "requestheader-allowed-names": '["front-proxy-client"]',
  "requestheader-username-headers": '["X-Remote-User"]',
  "requestheader-uid-headers": '["X-Remote-Uid"]',
  "requestheader-group-headers": '["X-Remote-Group"]',
  "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]'
}
const proxy = { certificateAuthority: "PEM", allowedNames: ["front-proxy-client"], headers: defaultHeaders }

describe("the authentication ConfigMap", () => {
  it("says who the front proxy is and which headers tell the caller", () =>
    expect(readFrontProxy(data)).toEqual(Result.succeed(proxy)))

  it("of an older cluster names no header for uids; one without names allows any", () => {
    const { "requestheader-uid-headers": _uid, "requestheader-allowed-names": _names, ...older } = data
    expect(readFrontProxy(older)).toEqual(
      Result.succeed({ ...proxy, allowedNames: [], headers: { ...defaultHeaders, uid: [] } })
    )
  })

  it.each([
    ["requestheader-client-ca-file", "", /^requestheader-client-ca-file: found nothing; it must be/],
    [
      "requestheader-allowed-names",
      "front-proxy-client",
      /^requestheader-allowed-names: found "front-proxy-client"; it must be a JSON list/
    ],
    ["requestheader-allowed-names", "[5]", /^requestheader-allowed-names/],
    ["requestheader-allowed-names", "null", /^requestheader-allowed-names/],
    ["requestheader-username-headers", "", /^requestheader-username-headers: found none; it must name a header/],
    ["requestheader-username-headers", "[]", /^requestheader-username-headers: found none/],
    ["requestheader-group-headers", "{", /^requestheader-group-headers/],
    ["requestheader-extra-headers-prefix", "{}", /^requestheader-extra-headers-prefix/]
  ])("with %s = %j lets nobody in by mistake", (key, value, problem) => {
    const read = readFrontProxy({ ...data, [key]: value })
    expect(Result.isFailure(read) ? read.failure : "").toMatch(problem)
  })

  it("allows a name that it lists, and any if it lists none", () => {
    expect(isAllowedName(proxy, "front-proxy-client")).toBe(true)
    fc.assert(fc.property(fc.string(), (name) => isAllowedName(proxy, name) === (name === "front-proxy-client")))
    fc.assert(fc.property(fc.string(), (name) => isAllowedName({ ...proxy, allowedNames: [] }, name)))
  })
})

describe("the caller", () => {
  const key = fc.stringMatching(/^[a-z0-9./ %äé-]{1,12}$/)
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).filter((name) => name.isWellFormed())
  const bytes = (name: string): string => Buffer.from(name).toString("latin1")
  const who = (headers: Parameters<typeof callerFrom>[0]) => Result.getOrThrow(callerFrom(headers, defaultHeaders))
  const wire = (name: string): string => encodeURIComponent(name).toLowerCase()

  it("says from where the request came, as the API server sent it", () => {
    const headers = { "x-remote-user": ["ann"], "x-forwarded-for": ["198.51.100.9, 10.0.0.7"] }
    expect(who(headers)).toMatchObject({ from: "198.51.100.9, 10.0.0.7" })
    expect(who({ "x-remote-user": ["ann"] })).not.toHaveProperty("from")
  })

  it("comes out as the front proxy encoded it", () => {
    const caller = fc.record({
      user: text,
      uid: text,
      groups: fc.array(text),
      extra: fc.dictionary(key, fc.array(text, { minLength: 1 }))
    })
    fc.assert(
      fc.property(caller, ({ extra, groups, uid, user }) => {
        const headers = {
          host: ["operator"],
          "x-remote-user": [bytes(user)],
          "x-remote-uid": [bytes(uid)],
          "x-remote-group": groups.map(bytes),
          ...Object.fromEntries(
            Object.entries(extra).map(([name, values]) => [`x-remote-extra-${wire(name)}`, values.map(bytes)])
          )
        }
        expect(who(headers)).toEqual({ user, uid, groups, extra })
      })
    )
  })

  it("is nobody without a name, whatever else is said", () => {
    for (const user of [undefined, [], [""]])
      expect(callerFrom({ "x-remote-user": user, "x-remote-group": ["system:masters"] }, defaultHeaders)).toEqual(
        Result.fail({ _tag: "NoUser" })
      )
  })

  it.each([
    ["x-remote-user", "J\xfcrgen"],
    ["x-remote-uid", "\xc0\xaf"],
    ["x-remote-group", "\xed\xa0\x80"],
    ["x-remote-extra-team", "\xff"],
    ["x-remote-extra-%ff", "a"]
  ])("is nobody with bytes that are not UTF-8 in %s", (header, value) => {
    expect(callerFrom({ "x-remote-user": ["ann"], [header]: ["ann", value] }, defaultHeaders)).toEqual(
      Result.fail({ _tag: "NotUtf8", header })
    )
  })

  it("is told only by the headers that the cluster names: the first user, all groups", () => {
    const names = { user: ["x-a", "x-b"], uid: [], groups: ["x-g", "x-h"], extraPrefixes: ["x-e-", "x-f-"] }
    const headers = {
      "x-remote-user": ["root"],
      "x-remote-group": ["system:masters"],
      "x-a": [""],
      "x-b": ["ann", "bob"],
      "x-g": ["one"],
      "x-h": ["two"],
      "x-e-team": ["1"],
      "x-f-team": ["2"],
      "x-remote-uid": ["0"]
    }
    expect(callerFrom(headers, names)).toEqual(
      Result.succeed({ user: "ann", groups: ["one", "two"], extra: { team: ["1", "2"] } })
    )
  })

  it("keeps a key that is not percent-encoded as it is", () =>
    expect(who({ "x-remote-user": ["a"], "x-remote-extra-%zz": ["1"] }).extra).toEqual({ "%zz": ["1"] }))
})
