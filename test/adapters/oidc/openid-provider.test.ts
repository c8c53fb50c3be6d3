import { Effect, Redacted, Result } from "effect"
import { describe, expect } from "vitest"
import { openIdProvider } from "../../../src/adapters/oidc/openid-provider.ts"
import { makeSeal } from "../../../src/adapters/oidc/seal.ts"
import { it } from "../../support/effect-it.ts"
import { type FakeOpenIdOptions, makeFakeOpenId, type TokenChange } from "../../support/fake-openid.ts"

const issuer = "https://login.example.com/realms/a"
const secret = "of the page: 100%"

const logins = (more: Partial<FakeOpenIdOptions> = {}, given: string = secret) =>
  Effect.map(
    Effect.promise(() => makeFakeOpenId({ issuer, clientId: "braid", clientSecret: secret, ...more })),
    (fake) => ({
      fake,
      provider: openIdProvider({
        issuer,
        clientId: "braid",
        clientSecret: Redacted.make(given),
        scopes: ["openid", "email"],
        redirectUri: "https://mirrord.example.com/callback",
        claims: ["groups"],
        fetch: fake.fetch
      })
    })
  )

describe("a login at a provider", () => {
  for (const ways of [undefined, ["client_secret_post"], ["client_secret_basic", "client_secret_post"]])
    it.live(`tells the claims about a person, with the secret sent as ${ways?.join(" or ") ?? "OAuth wants it"}`, () =>
      Effect.gen(function* () {
        const { fake, provider } = yield* logins(ways === undefined ? {} : { ways })
        const { attempt, url } = yield* provider.begin
        const { origin, pathname, searchParams } = new URL(url)
        expect(`${origin}${pathname}`).toBe(`${issuer}/authorize`)
        expect(searchParams.get("redirect_uri")).toBe("https://mirrord.example.com/callback")
        expect(searchParams.get("scope")).toBe("openid email")
        expect(url).not.toContain(attempt.verifier)
        const back = yield* Effect.promise(() => fake.logIn(url, { sub: "1", groups: ["dev"] }))
        expect(yield* provider.finish(back, attempt)).toMatchObject({ sub: "1", groups: ["dev"] })
        expect(fake.asked.filter((path) => path.startsWith("/.well-known"))).toHaveLength(1)
      })
    )

  it.live("asks for claims that the ID token lacks, of the same person alone", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* logins({ userInfo: { sub: "1", groups: ["ops"], email: "of@the-other" } })
      const claims = { sub: "1", email: "of@the-token" }
      const { attempt, url } = yield* provider.begin
      const back = yield* Effect.promise(() => fake.logIn(url, claims))
      expect(yield* provider.finish(back, attempt)).toMatchObject({ groups: ["ops"], email: "of@the-token" })
      const second = yield* provider.begin
      const other = yield* Effect.promise(() => fake.logIn(second.url, { sub: "2" }))
      const refused = yield* Effect.result(provider.finish(other, second.attempt))
      expect(Result.isFailure(refused) && refused.failure.reason).toBe("Refused")
    })
  )

  const changes: Readonly<Record<string, TokenChange>> = {
    "of another issuer": { issuer: "https://other.example.com" },
    "for another page": { audience: "other" },
    "of another login": { nonce: "another" },
    "that has ended": { expiresIn: "-1h" },
    "that another key has signed": { isForged: true }
  }
  for (const [which, change] of Object.entries(changes))
    it.live(`refuses a token ${which}`, () =>
      Effect.gen(function* () {
        const { fake, provider } = yield* logins()
        const { attempt, url } = yield* provider.begin
        const back = yield* Effect.promise(() => fake.logIn(url, { sub: "1", groups: ["dev"] }, change))
        const refused = yield* Effect.result(provider.finish(back, attempt))
        expect(Result.isFailure(refused) && refused.failure.reason).toBe("Refused")
      })
    )

  it.live("refuses another state, a code that was used, another secret, and a person who was refused there", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* logins()
      const { attempt, url } = yield* provider.begin
      const back = yield* Effect.promise(() => fake.logIn(url, { sub: "1", groups: [] }))
      const refusal = (answer: string, of = attempt, by = provider) =>
        Effect.map(Effect.flip(by.finish(answer, of)), ({ message, reason }) => `${reason}: ${message}`)
      expect(yield* refusal(back, { ...attempt, state: "another" })).toMatch(/^Refused: /u)
      yield* provider.finish(back, attempt)
      expect(yield* refusal(back)).toBe(
        `Refused: ${issuer} has not logged you in: invalid_grant: the code is not known.`
      )
      expect(yield* refusal(`?error=access_denied&state=${attempt.state}`)).toBe(
        `Refused: ${issuer} has not logged you in: access_denied.`
      )
      const wrong = yield* logins({}, "another")
      const begun = yield* wrong.provider.begin
      const code = yield* Effect.promise(() => wrong.fake.logIn(begun.url, { sub: "1", groups: [] }))
      const message = yield* refusal(code, begun.attempt, wrong.provider)
      expect(message).toContain("invalid_client")
      expect(message).not.toContain("another")
    })
  )

  it.live("says that a provider is away, and asks it again the next time", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* logins()
      const { attempt, url } = yield* provider.begin
      const back = yield* Effect.promise(() => fake.logIn(url, { sub: "1", groups: [] }))
      fake.goAway()
      expect(yield* Effect.flip(provider.finish(back, attempt))).toMatchObject({
        reason: "Away",
        message: `${issuer} does not answer: fetch failed: connect ECONNREFUSED 10.0.0.9:443.`
      })
      const later = yield* logins()
      later.fake.goAway()
      const away = yield* Effect.flip(later.provider.begin)
      expect(away.message).toBe(
        `${issuer} cannot be asked who you are: fetch failed: connect ECONNREFUSED 10.0.0.9:443.`
      )
      yield* Effect.flip(later.provider.begin)
      expect(later.fake.asked).toHaveLength(2)
    })
  )
})

describe("a sealed text", () => {
  it.effect("is opened for its purpose until its end, by whoever has the secret", () =>
    Effect.gen(function* () {
      const [seal, restarted, other] = ["a", "a", "b"].map((text) => makeSeal(Redacted.make(text)))
      const text = (yield* seal?.close("person", { name: "jane" }, 10_000) ?? Effect.succeed("")) || ""
      expect(text).not.toContain("jane")
      const opened = (by: typeof seal, purpose: string, now: number, what = text) =>
        by?.open(purpose, what, now) ?? Effect.succeed("no seal")
      expect(yield* opened(restarted, "person", 9_000)).toEqual({ contents: { name: "jane" }, until: 10_000 })
      expect(yield* opened(seal, "person", 10_000)).toBeUndefined()
      expect(yield* opened(seal, "login", 0)).toBeUndefined()
      expect(yield* opened(other, "person", 0)).toBeUndefined()
      expect(yield* opened(seal, "person", 0, `${text.slice(0, -2)}AA`)).toBeUndefined()
      expect(yield* opened(seal, "person", 0, "")).toBeUndefined()
    })
  )
})
