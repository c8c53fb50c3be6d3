import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Clock, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, beforeEach, describe, expect, vi } from "vitest"
import { makeEksTokens } from "../../../src/adapters/aws/eks-tokens.ts"
import { serverTime } from "../../../src/adapters/aws/server-time.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { EksAuth } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import type { MakeCloudToken } from "../../../src/ports/cloud-tokens.ts"
import { it } from "../../support/effect-it.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import {
  authenticate,
  type IdentityStandIn,
  startIdentityStandIn,
  type StsIdentity
} from "../../support/sts-stand-in.ts"

const minute = 60_000
const hour = 60 * minute
const now = Date.UTC(2026, 10, 25)

/** Secrets of the machine, which may be in no error. */
const canary = "eyJhbGciOiJSUzI1NiJ9.eyJjYW5hcnkiOiJjYW5hcnkifQ.Q2FuYXJ5Q2FuYXJ5Q2FuYXJ5Q2FuYXJ5Q2FuYXJ5"
const role: StsIdentity = {
  accessKeyId: "ASIAEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  sessionToken: "IQoJb3JpZ2luX2VjE/+Canary==",
  arn: "arn:aws:sts::123456789012:assumed-role/mirrord-operator/pod"
}
const person: StsIdentity = {
  accessKeyId: "AKIAEXAMPLE",
  secretAccessKey: "s3cr3t/+Canary",
  arn: "arn:aws:iam::1:user/x"
}

const cluster = (region = "eu-north-1", server = "https://127.0.0.1:1") => ({
  name: clusterName("My_Cluster"),
  server,
  certificateAuthority: undefined as string | undefined,
  auth: { _tag: "Eks", region } as const,
  isRefused: false
})
/** The API server's clock is ahead by so many ms. */
const ahead = (skew: number) => () => Effect.succeed(now + skew)
const made = async (make: MakeCloudToken<EksAuth>, of = cluster()) => {
  const { token, until } = await Effect.runPromise(make(of))
  return { until, token: Redacted.value(token) }
}
const problem = (make: MakeCloudToken<EksAuth>): Promise<string> => Effect.runPromise(Effect.flip(make(cluster())))
const urlOf = (token: string): URL => new URL(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())

let folder = ""
let standIn: IdentityStandIn
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "braid-aws-"))
  standIn = await startIdentityStandIn({ identity: role, expires: now + hour })
  // Nothing of the machine's own.
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) vi.stubEnv(name, undefined)
  vi.stubEnv("AWS_CONFIG_FILE", join(folder, "config"))
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", join(folder, "credentials"))
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true")
  vi.useFakeTimers({ now, toFake: ["Date"] })
})
afterEach(async () => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  await standIn.close()
  rmSync(folder, { recursive: true })
})

const useKeys = (): void => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", person.accessKeyId)
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", person.secretAccessKey)
}
/** As EKS's webhook injects it into pods. */
const useWebIdentity = (): void => {
  writeFileSync(join(folder, "token"), canary)
  vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/mirrord-operator")
  vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", join(folder, "token"))
  vi.stubEnv("AWS_REGION", "eu-west-1")
  vi.stubEnv("AWS_ENDPOINT_URL_STS", standIn.url)
}
/** As EKS gives pods with a Pod Identity. */
const usePodIdentity = (): void => {
  writeFileSync(join(folder, "pod-token"), canary)
  vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `${standIn.url}/v1/credentials`)
  vi.stubEnv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", join(folder, "pod-token"))
}
const none = () => Effect.succeed(undefined)

describe("a token for an EKS cluster", () => {
  it("is a presigned request for the caller's identity that names the cluster, for a minute", async () => {
    useKeys()
    const { token, until } = await made(makeEksTokens(none))
    expect(token).toMatch(/^k8s-aws-v1\.[A-Za-z0-9_-]+$/u)
    expect(Object.fromEntries(urlOf(token).searchParams)).toEqual({
      Action: "GetCallerIdentity",
      Version: "2011-06-15",
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": "AKIAEXAMPLE/20261125/eu-north-1/sts/aws4_request",
      "X-Amz-Date": "20261125T000000Z",
      "X-Amz-Expires": "60",
      "X-Amz-SignedHeaders": "host;x-k8s-aws-id",
      "X-Amz-Signature": expect.stringMatching(/^[0-9a-f]{64}$/u)
    })
    expect(until).toBe(now + 14 * minute)
  })

  it("convinces STS and the authenticator of EKS for that cluster, and for no other", async () => {
    useKeys()
    const { token } = await made(makeEksTokens(none))
    expect(authenticate(token, "My_Cluster", [person], now)).toBe(person)
    expect(authenticate(token, "my_cluster", [person], now)).toBe("SignatureDoesNotMatch")
    const forged = { ...person, secretAccessKey: "another" }
    expect(authenticate(token, "My_Cluster", [forged], now)).toBe("SignatureDoesNotMatch")
  })

  it.each([
    ["eu-north-1", "sts.eu-north-1.amazonaws.com"],
    ["cn-northwest-1", "sts.cn-northwest-1.amazonaws.com.cn"],
    ["us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"],
    ["us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"],
    ["us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"]
  ])("asks STS in %s, its own region, at %s", async (region, host) => {
    useKeys()
    const { token } = await made(makeEksTokens(none), cluster(region))
    expect(urlOf(token).host).toBe(host)
    expect(authenticate(token, "My_Cluster", [person], now)).toBe(person)
  })

  it.each([
    ["IRSA", useWebIdentity, /Action=AssumeRoleWithWebIdentity.*WebIdentityToken=eyJ/u],
    ["a Pod Identity", usePodIdentity, /^eyJ/u]
  ])("is made by %s, whose session it names, and tells when that ends", async (_name, use, request) => {
    use()
    standIn.answer = { identity: role, expires: now + 10 * minute }
    const make = makeEksTokens(none)
    const { token, until } = await made(make)
    expect(authenticate(token, "My_Cluster", [role], now)).toBe(role)
    expect(urlOf(token).searchParams.get("X-Amz-Security-Token")).toBe(role.sessionToken)
    expect(until).toBe(now + 10 * minute)
    await made(make)
    expect(standIn.asked).toEqual([expect.stringMatching(request)])
  })

  it("is made by the keys that stand in the file now, once a cluster refuses those from before", async () => {
    const write = ({ accessKeyId, secretAccessKey }: StsIdentity): void =>
      writeFileSync(
        join(folder, "credentials"),
        `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`
      )
    const make = makeEksTokens(none)
    write({ ...person, accessKeyId: "AKIAOLD" })
    await made(make)
    write(person)
    const { token } = await made(make, { ...cluster(), isRefused: true })
    expect(authenticate(token, "My_Cluster", [person], now)).toBe(person)
  })

  it("is used for 14 minutes if the end of its keys is no date", async () => {
    useKeys()
    vi.stubEnv("AWS_CREDENTIAL_EXPIRATION", "soon")
    expect((await made(makeEksTokens(none))).until).toBe(now + 14 * minute)
  })

  it("gets another identity when the last one ends within five minutes", async () => {
    useWebIdentity()
    const make = makeEksTokens(none)
    standIn.answer = { identity: { ...role, accessKeyId: "ASIAFIRST" }, expires: now + 4 * minute }
    await made(make)
    standIn.answer = { identity: role, expires: now + hour }
    expect(authenticate((await made(make)).token, "My_Cluster", [role], now)).toBe(role)
  })

  it("is dated by the API server's clock, up to a quarter of an hour from this one", async () => {
    useWebIdentity()
    standIn.answer = { identity: role, expires: now + 20 * minute }
    for (const skew of [-14 * minute, -5 * minute, 5 * minute, 14 * minute]) {
      const { token, until } = await made(makeEksTokens(ahead(skew)))
      for (const age of [0, 14 * minute]) expect(authenticate(token, "My_Cluster", [role], now + skew + age)).toBe(role)
      expect(until).toBe(now + Math.min(14 * minute, 20 * minute - skew))
    }
    expect(await problem(makeEksTokens(ahead(hour)))).toBe(
      "the API server's clock is 1h ahead of this operator's; set the clock of the operator's node"
    )
  })

  it("gets another identity in time if this machine's clock is behind", async () => {
    useWebIdentity()
    const make = makeEksTokens(ahead(5 * minute))
    standIn.answer = { identity: { ...role, accessKeyId: "ASIAFIRST" }, expires: now + 9 * minute }
    await made(make)
    standIn.answer = { identity: role, expires: now + hour }
    expect(authenticate((await made(make)).token, "My_Cluster", [role], now + 5 * minute)).toBe(role)
  })

  it("fails with cause and cure, without a secret", async () => {
    expect(await problem(makeEksTokens(none))).toMatch(/CredentialsProviderError: .* sa\.roleArn .* Pod Identity/u)
    useWebIdentity()
    standIn.answer = { code: "AccessDenied", text: `Not authorized, with ${canary} and ${role.secretAccessKey}` }
    const denied = await problem(makeEksTokens(none))
    expect(denied).toMatch(/AccessDenied: Not authorized, with .*trust policy/u)
    standIn.answer = { code: "InvalidIdentityToken", text: `No OpenIDConnect provider found for ${canary}` }
    const unknown = await problem(makeEksTokens(none))
    expect(unknown).toMatch(/InvalidIdentityToken.*identity provider of the AWS account/u)
    for (const text of [denied, unknown])
      for (const part of [...canary.split("."), role.secretAccessKey]) expect(text).not.toContain(part)
  })

  it.effect("is not waited for without end, and the identity is asked for again", function* () {
    const answers = [new Promise<never>(() => {}), Promise.resolve({ url: "x", identityEnds: undefined })]
    const make = makeEksTokens(none, async () => {
      const answer = answers.shift() ?? Promise.reject(new Error("asked a third time"))
      return () => answer
    })
    const first = yield* Effect.forkChild(Effect.flip(make(cluster())))
    yield* TestClock.adjust("30 seconds")
    expect(yield* Fiber.join(first)).toMatch(/TimeoutError: it was not found within 30 seconds.*reach AWS STS/u)
    expect(Redacted.value((yield* make(cluster())).token)).toBe("k8s-aws-v1.eA")
  })

  it.effect("that another cluster's clock forbids leaves the identity as it is", function* () {
    let found = 0
    const make = makeEksTokens(
      ({ server }) => Effect.map(Clock.currentTimeMillis, (time) => (server === "wrong" ? time + hour : time)),
      async () => {
        found++
        return async () => ({ url: "x", identityEnds: undefined })
      }
    )
    yield* make(cluster())
    expect(yield* Effect.flip(make(cluster("eu-north-1", "wrong")))).toContain("clock is 1h ahead")
    yield* make(cluster())
    expect(found).toBe(1)
  })

  it("fails with the words of the Pod Identity's agent also when the identity is found again", async () => {
    usePodIdentity()
    const make = makeEksTokens(none)
    await made(make)
    standIn.answer = { code: "AccessDeniedException", text: "No association" }
    const asked = Effect.flip(make({ ...cluster(), isRefused: true }))
    expect(await Effect.runPromise(asked)).toMatch(/AccessDeniedException: No association.*pods\.eks\.amazonaws/u)
  })

  it("names a token file that is missing", async () => {
    useWebIdentity()
    rmSync(join(folder, "token"))
    expect(await problem(makeEksTokens(none))).toContain(`open '${join(folder, "token")}'`)
  })
})

describe("the API server's time", () => {
  it("is the date of any answer, and unknown without one", async () => {
    const server = createServer((_request, response) =>
      response.writeHead(401, { date: "Wed, 25 Nov 2026 00:02:02 GMT" }).end()
    )
    const port = await listenLocally(server)
    const ask = () =>
      Effect.runPromise(serverTime({ server: `http://127.0.0.1:${port}`, certificateAuthority: undefined }))
    expect(await ask()).toBe(Date.UTC(2026, 10, 25, 0, 2, 2))
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    expect(await ask()).toBeUndefined()
  })

  it.each([
    ["does not answer", {}],
    ["has an authority that cannot be read", { certificateAuthority: "no PEM" }],
    [
      "has an authority that is no certificate",
      { certificateAuthority: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }
    ],
    ["has no usable address", { server: "a b" }]
  ])("is that of this machine for the token of a cluster that %s", async (_what, changed) => {
    useKeys()
    const { token } = await made(makeEksTokens(), { ...cluster(), ...changed })
    expect(authenticate(token, "My_Cluster", [person], now)).toBe(person)
  })
})
