import { Redacted, Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { readKubeconfig } from "../../../src/domain/fleet/kubeconfig.ts"

const pem = (label: string): string => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----`

interface Parts {
  readonly cluster?: object
  readonly user?: object
  readonly more?: object
}

const config = ({ cluster = {}, more = {}, user = { token: "a.b.c" } }: Parts = {}) => ({
  "current-context": "here",
  contexts: [
    { name: "there", context: { cluster: "other", user: "nobody" } },
    { name: "here", context: { cluster: "b", user: "primary" } }
  ],
  clusters: [{ name: "b", cluster: { server: "https://b.example.com:6443", ...cluster } }],
  users: [{ name: "primary", user }],
  ...more
})

const read = (value: unknown) => readKubeconfig({ _tag: "Parsed", value })
const problem = (parts: Parts): string | undefined =>
  Result.match(read(config(parts)), { onFailure: (clause) => clause, onSuccess: () => undefined })

describe("a kubeconfig", () => {
  it("is the cluster and the user of its current context", () => {
    const ca = encodeBase64Text(pem("CERTIFICATE"))
    const found = Result.getOrThrow(read(config({ cluster: { "certificate-authority-data": ca } })))
    expect(found.server).toBe("https://b.example.com:6443")
    expect(found.certificateAuthority).toBe(pem("CERTIFICATE"))
    expect(found.credentials._tag === "BearerToken" ? Redacted.value(found.credentials.token) : "").toBe("a.b.c")
  })

  it("may have a client certificate, which comes before a token", () => {
    const user = {
      token: "a.b.c",
      "client-certificate-data": encodeBase64Text(pem("CERTIFICATE")),
      "client-key-data": encodeBase64Text(pem("PRIVATE KEY"))
    }
    const { credentials } = Result.getOrThrow(read(config({ user })))
    expect(credentials).toMatchObject({ _tag: "ClientCertificate", certificatePem: pem("CERTIFICATE") })
  })

  it.each([
    [
      { user: { exec: { command: "aws" } } },
      /^it has exec; the operator runs no program of a kubeconfig; write a token/u
    ],
    [{ user: { tokenFile: "/etc/passwd", token: "a" } }, /^it has tokenFile; write a token of a service account/u],
    [{ user: { "client-certificate": "/a.crt" } }, /^it has client-certificate; write the certificate itself/u],
    [{ user: { as: "admin", token: "a" } }, /^it has as; leave it out/u],
    [{ user: { username: "a", password: "b" } }, /^it has username; write a token/u],
    [{ user: {} }, /^its user has no token and no client-certificate-data/u],
    [{ user: { token: "a\nb" } }, /^its token has a character that no token has/u],
    [
      { user: { "client-key-data": encodeBase64Text(pem("PRIVATE KEY")) } },
      /client-key-data without client-certificate/u
    ],
    [{ user: { "client-certificate-data": "%" } }, /^client-certificate-data is no base64 of PEM; write it again$/u],
    [{ cluster: { "insecure-skip-tls-verify": true } }, /^it has insecure-skip-tls-verify; write the CA/u],
    [{ cluster: { "certificate-authority": "/ca.crt" } }, /^it has certificate-authority; write the CA itself/u],
    [{ cluster: { "proxy-url": "http://p" } }, /^it has proxy-url; leave it out, and set HTTPS_PROXY/u],
    [{ cluster: { server: "http://b" } }, /^its server is "http:\/\/b"; write the API server's address, with https/u],
    [{ cluster: { server: 5 } }, /^its server is ""; write/u],
    [{ more: { "current-context": "gone" } }, /^it has no context "gone"; name one of "there", "here"$/u],
    [{ more: { "current-context": "there" } }, /^it has no cluster "other"; name one of "b"$/u],
    [{ more: { users: "none" } }, /^it has no user "primary"; add it to users$/u],
    [
      { more: { clusters: undefined } },
      /^it is no kubeconfig: it has no clusters; write the output of `kubectl config/u
    ]
  ])("that cannot be used is refused with a sentence: %j", (parts, sentence) =>
    expect(problem(parts)).toMatch(sentence)
  )

  it("is refused if it is empty, or no YAML", () => {
    expect(Result.flip(readKubeconfig({ _tag: "Absent" })).pipe(Result.getOrThrow)).toMatch(/^it is empty; write/u)
    const reason = "wrong at line 1, column 2"
    expect(Result.flip(readKubeconfig({ _tag: "NotYaml", reason })).pipe(Result.getOrThrow)).toMatch(
      /^it is no YAML: wrong at line 1, column 2; write/u
    )
  })

  it("is anything at all: it is read or refused, and no refusal tells a credential", () => {
    const secret = "s3cr3t t0ken"
    const credential = fc.dictionary(
      fc.constantFrom("token", "password", "client-key-data", "client-certificate-data"),
      fc.oneof(fc.constant(secret), fc.constant([secret]), fc.jsonValue())
    )
    const user = fc.oneof(credential, fc.jsonValue())
    const list = fc.array(fc.record({ name: fc.constantFrom("b", "primary", "here"), cluster: user, user }))
    const any = fc.record({ "current-context": fc.jsonValue(), contexts: list, clusters: list, users: list })
    fc.assert(
      fc.property(any, credential, (value, parts) => {
        for (const one of [read(value), read(config({ user: parts }))])
          if (Result.isFailure(one)) expect(one.failure).not.toContain(secret)
      })
    )
  })
})
