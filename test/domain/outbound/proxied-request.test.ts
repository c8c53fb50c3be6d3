import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isLasting, isProxied, proxyRoot, readProxied } from "../../../src/domain/outbound/proxied-request.ts"

const root = "/apis/operator.metalbear.co/v1/mirrordclusters"
const read = (url: string, method = "GET", isUpgrade = false) => readProxied({ method, url, isUpgrade })
const part = fc.stringMatching(/^[A-Za-z0-9:_.~-]{1,8}$/).filter((text) => text !== "." && text !== "..")

describe("a person's request", () => {
  it.each(["GET", "HEAD"])("by %s needs no more than the API server has asked for", (method) =>
    expect(read(`${root}/b/proxy/api/v1/pods?watch=true&x=%2F..`, method)).toEqual(
      Result.succeed({
        cluster: "b",
        target: "/api/v1/pods?watch=true&x=%2F..",
        path: "/api/v1/pods",
        isUpgrade: false,
        verb: "get",
        isUnasked: false
      })
    )
  )

  it.each([
    ["POST", "create"],
    ["PUT", "update"],
    ["PATCH", "patch"],
    ["DELETE", "delete"]
  ])("by %s needs %s, for which the API server has asked", (method, verb) =>
    expect(read(`${root}/b/proxy/api`, method)).toMatchObject({ success: { verb, isUnasked: false } })
  )

  it.each([
    ["GET", true],
    ["POST", false],
    ["PUT", true]
  ])("that leaves HTTP by %s needs create", (method, isUnasked) =>
    expect(read(`${root}/b/proxy/api`, method, true)).toMatchObject({ success: { verb: "create", isUnasked } })
  )

  it.each(["OPTIONS", "TRACE", "CONNECT", "get", ""])("by %j is not passed on", (method) =>
    expect(read(`${root}/b/proxy/api`, method)).toMatchObject({ failure: expect.stringContaining("use one of GET") })
  )

  it.each([
    ["/a/../b", 'the part ".."'],
    ["/..", 'the part ".."'],
    ["/a/.", 'the part "."'],
    ["/%2e%2E/b", 'the part ".."'],
    ["/.%2e", 'the part ".."'],
    ["//a", "an empty part"],
    ["/a//b", "an empty part"],
    ["/a%2fb", "an encoded slash"],
    ["/a%2F..%2Fb", "an encoded slash"],
    ["/a%5cb", "an encoded slash"],
    ["/a%00", "an encoded slash"],
    ["/a\\b", "a character that a URL has to encode"],
    ["/a#b", "a character that a URL has to encode"],
    ["/a b", "a character that a URL has to encode"],
    ["/a\u00e4", "a character that a URL has to encode"],
    ["/a%zz", "not percent-encoded"],
    ["/%c3%28", "not percent-encoded"]
  ])("for the path %j is not passed on", (path, why) =>
    expect(read(`${root}/b/proxy${path}`)).toMatchObject({ failure: expect.stringContaining(why) })
  )

  it("is for the member that the URL names, whatever follows", () =>
    fc.assert(
      fc.property(part, fc.array(part), fc.constantFrom("", "?a=/../../c/proxy"), (name, parts, query) => {
        const path = parts.map((text) => `/${text}`).join("")
        expect(read(`${root}/${name}/proxy${path}${query}`)).toMatchObject({
          success: { cluster: name, path: path === "" ? "/" : path, target: `${path === "" ? "/" : path}${query}` }
        })
      })
    ))

  it("is found at the address that a kubeconfig gets, whatever the member's name", () => {
    for (const name of ["b", "ärn:aws/x", "a b", "100%"]) {
      const url = `${proxyRoot(name)}/api`
      expect(isProxied(url)).toBe(true)
      if (!name.includes("/")) expect(read(url)).toMatchObject({ success: { cluster: name, target: "/api" } })
    }
    // An API server would have taken it for another member.
    expect(read(`${root}/a%2fproxy/proxy/api`)).toMatchObject({ failure: expect.stringContaining("name is none") })
  })

  it.each([`${root}/b`, `${root}/b/proxyx/api`, `${root}/proxy/api`, "/proxy", `${root}/b/status`, `${root}//proxy/a`])(
    "is none for %s",
    (url) => expect(isProxied(url)).toBe(false)
  )
})

describe("a person's request is to last", () => {
  const pods = "/api/v1/namespaces/default/pods"
  it.each([
    [`${pods}/a/exec?command=ls`, true, true],
    [`${pods}?limit=5&watch=true`, false, true],
    [`${pods}?watch=1`, false, true],
    [`${pods}?x=?&watch=1`, false, true],
    [`${pods}?watch`, false, true],
    ["/api/v1/watch/pods", false, true],
    [`${pods}/a/log?follow=true`, false, true],
    [`${pods}/a/log?follow=FALSE`, false, false],
    [`${pods}?watch=0`, false, false],
    [`${pods}?labelSelector=watch%3Dtrue`, false, false],
    [`${pods}/watch-me`, false, false]
  ])("%s, upgrade %s: %s", (url, isUpgrade, wanted) => expect(isLasting(url, isUpgrade)).toBe(wanted))
})
