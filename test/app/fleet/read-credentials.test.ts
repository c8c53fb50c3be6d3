import { Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { readCredentials, readMember } from "../../../src/app/fleet/read-credentials.ts"

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
const { certPem, keyPem } = await (await createAuthority("ca", () => 0)).issue({ commonName: "primary" })
const secret = (data: Readonly<Record<string, string>>) => ({
  metadata: { name: "s" },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]))
})
const [bearer, mtls] = [{ _tag: "BearerToken" }, { _tag: "Mtls" }] as const
const token = (text: string) => readCredentials(bearer, "s", secret({ bearerToken: text }))

describe("a member's credentials", () => {
  it("are the token without white space around it, or certificate and key", () => {
    expect(
      Result.map(
        token(" t\n"),
        ({ credentials }) => credentials._tag === "BearerToken" && Redacted.value(credentials.token)
      )
    ).toEqual(Result.succeed("t"))
    expect(
      Result.map(
        readCredentials(mtls, "s", secret({ "tls.crt": certPem, "tls.key": keyPem })),
        ({ credentials }) => credentials._tag
      )
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
      { _tag: "Aks", tenantId: undefined, clientId: undefined },
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

  it("are read with the kept token, of a member whose token is renewed alone", () => {
    const found = new Map([
      ["s", secret({ bearerToken: "?", "tls.crt": "x" })],
      ["kept", secret({ bearerToken: "k" })]
    ])
    const secrets = {
      secret: "s",
      refreshed: "kept",
      secretOf: (name: string) => found.get(name),
      kubeconfig: () => ""
    }
    expect(readMember(bearer, secrets)).toMatchObject({
      isFilled: true,
      hasKeptSecret: true,
      kept: { claims: undefined }
    })
    expect(readMember(mtls, secrets)).toMatchObject({ isFilled: false, hasKeptSecret: true, kept: undefined })
    const nothing = { ...secrets, secretOf: () => undefined }
    expect(readMember(bearer, nothing)).toMatchObject({ isFilled: false, hasKeptSecret: false, kept: undefined })
  })
})
