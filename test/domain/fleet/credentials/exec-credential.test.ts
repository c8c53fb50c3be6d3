import { Redacted, Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  execApiVersions,
  type ExecFailure,
  execFailureClause,
  execInfo,
  readExecCredential
} from "../../../../src/domain/fleet/credentials/exec-credential.ts"

const [v1, v1beta1] = execApiVersions
const now = Date.parse("2026-11-21T12:00:00Z")
const answer = (status: unknown, more: object = {}) =>
  JSON.stringify({ apiVersion: v1, kind: "ExecCredential", status, ...more })
const read = (text: string) => readExecCredential(text, v1, now)
const failure = (text: string) => Result.match(read(text), { onFailure: (why) => why, onSuccess: () => "" })

describe("what a plugin is told", () => {
  it("is the protocol's version alone, or the cluster as well, and never that there is a terminal", () => {
    expect(JSON.parse(execInfo(v1beta1, undefined))).toEqual({
      apiVersion: v1beta1,
      kind: "ExecCredential",
      spec: { interactive: false }
    })
    const cluster = { server: "https://a", certificateAuthority: "PEM", config: '{"clusterName":"a"}' }
    expect(JSON.parse(execInfo(v1, cluster))).toEqual({
      apiVersion: v1,
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: { server: "https://a", "certificate-authority-data": "UEVN", config: { clusterName: "a" } }
      }
    })
  })

  it("is any JSON that a profile has for it", () => {
    fc.assert(
      fc.property(fc.json(), (config) => {
        const info = execInfo(v1, { server: "https://a", certificateAuthority: undefined, config })
        expect(JSON.parse(info)).toMatchObject({ spec: { cluster: { config: JSON.parse(config) } } })
      })
    )
  })
})

describe("an ExecCredential", () => {
  it("holds a token, with or without its end", () => {
    const { credentials, until } = Result.getOrThrow(
      read(answer({ token: " t\n", expirationTimestamp: "2026-11-21T13:00:00+00:00" }))
    )
    expect(until).toBe(now + 3_600_000)
    expect(credentials._tag === "BearerToken" && Redacted.value(credentials.token)).toBe("t")
    expect(Result.getOrThrow(read(answer({ token: "t" }))).until).toBeUndefined()
  })

  it("holds a certificate and its key, which count more than a token", () => {
    const pem = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`
    const status = { clientCertificateData: pem("CERTIFICATE"), clientKeyData: pem("PRIVATE KEY"), token: "t" }
    expect(Result.getOrThrow(read(answer(status))).credentials._tag).toBe("ClientCertificate")
  })

  it.each<[string, string, RegExp]>([
    ["nothing", "\n", /^it wrote nothing where an ExecCredential must be$/u],
    ["garbage", "Please log in: ", /^it wrote no JSON/u],
    ["a list", "[]", /^it wrote no JSON/u],
    [
      "another version",
      answer({ token: "t" }, { apiVersion: v1beta1 }),
      /^its apiVersion is ".*v1beta1" and must be .*v1$/u
    ],
    ["another kind", answer({ token: "t" }, { kind: "TokenReview" }), /^its kind is "TokenReview" and must be ExecCr/u],
    ["no status", answer(undefined), /^its status has neither token nor clientCertificateData$/u],
    ["a number", answer({ token: 7 }), /^its status.token is no text$/u],
    [
      "a token of two lines",
      answer({ token: "hidden\nhidden" }),
      /^its status.token cannot be used: character 7 of 13/u
    ],
    [
      "a key alone",
      answer({ clientKeyData: "hidden" }),
      /^its status has clientKeyData without clientCertificateData$/u
    ],
    [
      "no PEM",
      answer({ clientCertificateData: "hidden", clientKeyData: "hidden" }),
      /clientCertificateData is no PEM$/u
    ],
    [
      "no time",
      answer({ token: "hidden", expirationTimestamp: "soon" }),
      /expirationTimestamp is "soon", which is no t/u
    ],
    [
      "an end that is past",
      answer({ token: "hidden", expirationTimestamp: "2026-11-21T12:00:00Z" }),
      /ended already at 2026-11-21 12:00 UTC/u
    ]
  ])("with %s is refused with a clause, without any secret", (_what, text, clause) => {
    expect(failure(text)).toMatch(clause)
    expect(failure(text)).not.toContain("hidden")
  })

  it("is read or refused, whatever is written, and a token that is taken fits into a header", () => {
    const anything = fc.oneof(
      fc.string(),
      fc
        .record({ token: fc.string(), expirationTimestamp: fc.string() }, { requiredKeys: [] })
        .map((one) => answer(one)),
      fc.jsonValue().map((status) => answer(status))
    )
    fc.assert(
      fc.property(anything, (text) => {
        const found = read(text)
        if (Result.isFailure(found)) expect(found.failure).toMatch(/^it/u)
        else if (found.success.credentials._tag === "BearerToken")
          expect(Redacted.value(found.success.credentials.token)).toMatch(/^[!-~]+$/u)
      })
    )
  })
})

describe("a plugin that fails", () => {
  it.each<[ExecFailure, RegExp]>([
    [{ _tag: "NotStarted", code: "ENOENT" }, /^it does not exist in the operator's pod; mount it/u],
    [{ _tag: "NotStarted", code: "EACCES" }, /^it is not executable;/u],
    [{ _tag: "NotStarted", code: "EAGAIN" }, /^it cannot be started \(EAGAIN\);/u],
    [{ _tag: "TooSlow" }, /^it had not ended after 10 s and was killed;/u],
    [{ _tag: "TooMuch" }, /^it wrote more than 64 KiB and was killed;/u],
    [{ _tag: "Failed", how: 1, stderr: "\n  no session.\nmore" }, /^it ended with exit code 1 \(no session\);/u],
    [{ _tag: "Failed", how: "SIGSEGV", stderr: "" }, /^it ended with SIGSEGV \(no word on stderr\);/u]
  ])("is told of: %j", (found, clause) => expect(execFailureClause(found)).toMatch(clause))

  it("has no token quoted, and no characters that change a terminal", () => {
    const stderr = `\u001b[31mrefused eyJhbGciOiJSUzI1NiJ9.e30.c2ln ${"k".repeat(50)}`
    expect(execFailureClause({ _tag: "Failed", how: 2, stderr })).toBe(
      "it ended with exit code 2 (\u{fffd}[31mrefused … …); correct what it complains of"
    )
  })
})
