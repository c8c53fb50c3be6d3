import { Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { readCredentials, sameCredentials } from "../../../src/app/fleet/member-credentials.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
const { certPem, keyPem } = await (await createAuthority("ca", () => 0)).issue({ commonName: "primary" })
const member = (auth: MemberConfiguration["auth"]): MemberConfiguration => ({
  name: clusterName("a"),
  server: "https://a",
  namespace: undefined,
  certificateAuthority: undefined,
  auth,
  problems: []
})
const secret = (data: Readonly<Record<string, string>>) => ({
  metadata: { name: "s" },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]))
})
const [bearer, mtls] = [member({ _tag: "BearerToken" }), member({ _tag: "Mtls" })]
const token = (text: string) => readCredentials(bearer, "s", secret({ bearerToken: text }))

describe("a member's credentials", () => {
  it("are the token without white space around it, or certificate and key", () => {
    expect(Result.map(token(" t\n"), (found) => found._tag === "BearerToken" && Redacted.value(found.token))).toEqual(
      Result.succeed("t")
    )
    expect(
      Result.map(readCredentials(mtls, "s", secret({ "tls.crt": certPem, "tls.key": keyPem })), (found) => found._tag)
    ).toEqual(Result.succeed("ClientCertificate"))
  })

  it.each([
    ["a Secret that is missing", bearer, undefined, "its Secret s with label"],
    ["a Secret without token", bearer, secret({}), "its Secret s has no bearerToken"],
    ["an empty token", bearer, secret({ bearerToken: " " }), "its Secret s has no bearerToken"],
    ["a certificate that is none", mtls, secret({ "tls.crt": "x", "tls.key": "x" }), "key tls.crt of its Secret s"],
    [
      "a certificate that is unreadable",
      mtls,
      secret({ "tls.crt": pem, "tls.key": keyPem }),
      "its Secret s is unusable: certificate 1 of 1 in tls.crt"
    ],
    ["a key that is missing", mtls, secret({ "tls.crt": pem }), "key tls.key of its Secret s"],
    [
      "an authType without a Secret",
      member({ _tag: "Aks", tenantId: undefined, clientId: undefined }),
      secret({}),
      "this authType needs no Secret"
    ]
  ] as const)("fail with a sentence for %s", (_what, configured, found, sentence) => {
    expect(readCredentials(configured, "s", found)).toMatchObject({
      _tag: "Failure",
      failure: expect.stringContaining(sentence)
    })
  })

  it.each(["a\r\nX-Evil: 1", "a\u0000b", "tökenb", "two words", "a\u007f"])(
    "fail for a token that no header may hold, with the Secret's name and without the token: %j",
    (text) => {
      const read = token(text)
      expect(read).toMatchObject({
        _tag: "Failure",
        failure: expect.stringMatching(/^key bearerToken of its Secret s is unusable: character \d+ of \d+ /u)
      })
      expect(JSON.stringify(read)).not.toContain(text.slice(0, 3))
    }
  )

  it.each([
    ["the same token", token("t"), token("t"), true],
    ["another token", token("t"), token("u"), false],
    ["a token that is gone", token("t"), token(""), false],
    ["the same failure", token(""), token(" "), true],
    ["another failure", token(""), readCredentials(bearer, "s", undefined), false],
    ["another kind", token("t"), readCredentials(mtls, "s", secret({ "tls.crt": certPem, "tls.key": keyPem })), false]
  ])("are compared: %s", (_what, one, other, same) => {
    expect(sameCredentials(one, other)).toBe(same)
  })
})
