import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import {
  memberToken,
  newestCredentials,
  nothingLearnt,
  sameCredentials
} from "../../../../src/domain/fleet/credentials/member-credentials.ts"
import { bearer, certificate, certificates, hour, tokenOf, tokens } from "./credential-samples.ts"

const [old, young] = [tokenOf(0, 10 * hour), tokenOf(hour, 11 * hour)]
const found = (...[reading, learnt]: Partial<Parameters<typeof newestCredentials>>) => {
  const newest = newestCredentials(reading ?? tokens(old), learnt ?? nothingLearnt, 2 * hour)
  return Result.map(newest, ({ credentials, ending, spoilt }) => ({
    uses: credentials._tag === "BearerToken" ? Redacted.value(credentials.token) : credentials.certificatePem,
    ending: ending?.what,
    spoilt
  }))
}

describe("the newest credentials", () => {
  it("are the user's own, a kept token that is newer, and never an older one", () => {
    expect(found()).toEqual(Result.succeed({ uses: Redacted.value(old), ending: undefined, spoilt: undefined }))
    expect(found(tokens(old, young))).toMatchObject({ success: { uses: Redacted.value(young) } })
    expect(found(tokens(young, old))).toMatchObject({ success: { uses: Redacted.value(young) } })
  })

  it("are a good token in place of one that cannot be used or is refused, unless the Secret was emptied", () => {
    const good = { ...nothingLearnt, good: memberToken(old) }
    expect(found(tokens("unusable"), good)).toMatchObject({
      success: { uses: Redacted.value(old), spoilt: "unusable" }
    })
    expect(found(tokens("unusable"))).toEqual(Result.fail("unusable"))
    expect(found({ ...tokens("unusable"), isFilled: false }, good)).toEqual(Result.fail("unusable"))
    const foreign = tokenOf(hour, 11 * hour, "other")
    expect(found(tokens(foreign), { ...good, refused: [memberToken(foreign)] })).toMatchObject({
      success: { uses: Redacted.value(old), spoilt: expect.stringContaining("does not know the token in its Secret s") }
    })
  })

  it("end, as far as nobody renews them: certificates, tokens of kubeconfigs, and of no service account", () => {
    expect(found(certificates("a", hour))).toMatchObject({ success: { ending: "the client certificate in Secret s" } })
    const place = { _tag: "File", path: "/k", context: undefined } as const
    const auth = { _tag: "Kubeconfig", fingerprint: "f", place } as const
    expect(found({ ...tokens(old), auth })).toMatchObject({ success: { ending: "the token in the kubeconfig /k" } })
    expect(found(tokens(Redacted.make("opaque")))).toMatchObject({ success: { ending: undefined } })
  })
})

describe("credentials", () => {
  it.each([
    ["the same token", Result.succeed(bearer(old)), Result.succeed(bearer(tokenOf(0, 10 * hour))), true],
    ["another token", Result.succeed(bearer(old)), Result.succeed(bearer(young)), false],
    ["a token that is gone", Result.succeed(bearer(old)), Result.fail("gone"), false],
    ["the same failure", Result.fail("gone"), Result.fail("gone"), true],
    ["another failure", Result.fail("gone"), Result.fail("unusable"), false],
    ["another kind", Result.succeed(bearer(old)), Result.succeed(certificate("a")), false],
    ["another certificate", Result.succeed(certificate("b")), Result.succeed(certificate("a")), false]
  ])("are compared: %s", (_what, one, other, same) => expect(sameCredentials(one, other)).toBe(same))
})
