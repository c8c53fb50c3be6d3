import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest"
import { makeAksTokens } from "../../../src/adapters/azure/aks-tokens.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { readTokenClaims } from "../../../src/domain/fleet/credentials/token-claims.ts"
import { it } from "../../support/effect-it.ts"
import { aksServer, type EntraStandIn, signJwt, startEntraStandIn } from "../../support/entra-stand-in.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { until } from "../../support/until.ts"

const minute = 60_000
const tenant = "11111111-2222-3333-4444-555555555555"
const client = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
const issuer = "https://oidc.example.com/primary/"
const subject = "system:serviceaccount:mirrord:mirrord-operator"
const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })

describe("a token for an AKS cluster", () => {
  let folder = ""
  let entra: EntraStandIn
  let environment: Record<string, string | undefined> = {}
  /** The token of the pod's service account, as the kubelet writes it. */
  const writeAssertion = (more: object = {}, key = privateKey): string => {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      sub: subject,
      aud: ["api://AzureADTokenExchange"],
      iat: now,
      exp: now + 3_600,
      ...more
    }
    const assertion = signJwt(claims, key)
    writeFileSync(join(folder, "token"), `${assertion}\n`)
    return assertion
  }
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "braid-azure-"))
    const identity = { clientId: client, objectId: "object", groups: ["group"], issuer, subject }
    entra = await startEntraStandIn({ tenant, identities: [identity], issuerKey: () => publicKey })
  })
  afterEach(() => {
    entra.problem = undefined
    entra.lifetime = 3_600
    entra.answer = undefined
  })
  afterAll(async () => {
    await entra.close()
    rmSync(folder, { recursive: true })
  })

  /** As Azure's workload identity webhook injects them into pods. */
  const variables = () => ({
    AZURE_TENANT_ID: tenant,
    AZURE_CLIENT_ID: client,
    AZURE_FEDERATED_TOKEN_FILE: join(folder, "token"),
    AZURE_AUTHORITY_HOST: entra.authorityHost
  })
  interface Ids {
    readonly tenantId?: string
    readonly clientId?: string
  }
  const cluster = ({ clientId, tenantId }: Ids = {}) => ({
    name: clusterName("a"),
    server: "https://a",
    certificateAuthority: undefined,
    auth: { _tag: "Aks", tenantId, clientId } as const
  })
  const ask = (ids?: Ids) => makeAksTokens({ ...variables(), ...environment }, entra.caPem)(cluster(ids))
  const problem = (ids?: Ids): Promise<string> => Effect.runPromise(Effect.flip(ask(ids)))

  it("is Entra's answer to the pod's service account token, for the AKS server application", async () => {
    const assertion = writeAssertion()
    const { token, until } = await Effect.runPromise(ask())
    expect(readTokenClaims(Redacted.value(token))).toMatchObject({ subject: "object" })
    expect(Math.abs(until - Date.now() - 60 * minute)).toBeLessThan(minute)
    const form = new URLSearchParams(entra.asked.at(-1))
    expect([form.get("client_id"), form.get("client_assertion")]).toEqual([client, assertion])
    expect(form.get("scope")).toContain(`${aksServer}/.default`)
  })

  it("is another one each time, by the service account token of that time", async () => {
    const before = entra.asked.length
    writeAssertion()
    await Effect.runPromise(ask())
    const assertion = writeAssertion({ jti: "next" })
    entra.lifetime = 86_400
    const { until } = await Effect.runPromise(ask())
    expect(until).toBeGreaterThan(Date.now() + 23 * 60 * minute)
    expect(entra.asked.length).toBe(before + 2)
    expect(new URLSearchParams(entra.asked.at(-1)).get("client_assertion")).toBe(assertion)
  })

  it("is asked for with the ids of the cluster's configuration before those of the pod", async () => {
    writeAssertion()
    environment = { AZURE_TENANT_ID: "other", AZURE_CLIENT_ID: "other" }
    await Effect.runPromise(ask({ tenantId: tenant, clientId: client }))
    expect(await problem()).toMatch(/^client other of tenant other gets no token \(AADSTS90002: /u)
    environment = {}
  })

  it.each([
    ["another tenant", { tenantId: "contoso.com" }, {}, /AADSTS90002: .* not found\); correct tenantId/u],
    ["another client", { clientId: "other" }, {}, /AADSTS700016: .*clientId is an application of the tenant/u],
    ["another issuer", {}, { iss: "https://x" }, /AADSTS700211: .*federated credential with the issuer/u],
    ["another service account", {}, { sub: "system:serviceaccount:a:b" }, /AADSTS700213: .* as subject/u],
    ["another audience", {}, { aud: ["sts.amazonaws.com"] }, /AADSTS700212: .*api:\/\/AzureADTokenExchange/u],
    ["a pod whose token has ended", {}, { exp: 1 }, /AADSTS700024: .*restart the operator's pod/u]
  ])("is refused for %s, with cause and cure", async (_what, auth, claims, sentence) => {
    writeAssertion(claims)
    expect(await problem(auth)).toMatch(sentence)
  })

  it("is refused for a service account token of another cluster", async () => {
    writeAssertion({}, generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey)
    expect(await problem()).toContain("AADSTS700027")
  })

  it.each([
    ["AZURE_FEDERATED_TOKEN_FILE", undefined, /AZURE_FEDERATED_TOKEN_FILE is not set .*sa\.azureClientId/u],
    ["AZURE_FEDERATED_TOKEN_FILE", "/nowhere/token", /ENOENT: .*open '\/nowhere\/token'.*workload identity/u],
    ["AZURE_TENANT_ID", "a b", /AZURE_TENANT_ID is "a b", which is no tenant/u],
    ["AZURE_AUTHORITY_HOST", "http://entra", /AZURE_AUTHORITY_HOST is "http:\/\/entra", which is no https address/u]
  ])("tells that %s is %s", async (name, value, sentence) => {
    writeAssertion()
    environment = { [name]: value }
    expect(await problem()).toMatch(sentence)
    environment = {}
  })

  const waiting = (requests: number) =>
    Effect.promise(() => until(`${requests} requests wait`, () => entra.waiting() === requests || undefined))

  it.effect("is not waited for without end, nor is its request left open", function* () {
    writeAssertion()
    entra.isSilent = true
    const asking = yield* Effect.forkChild(Effect.flip(ask()))
    yield* waiting(1)
    yield* TestClock.adjust("30 seconds")
    expect(yield* Fiber.join(asking)).toMatch(/there was no answer within 30 seconds\); let the operator's pod reach/u)
    yield* waiting(0)
    entra.isSilent = false
  })

  it.each([
    [200, /\(HTTP 200: the answer is not Microsoft Entra's\); let the operator's pod reach/u],
    [302, /\(HTTP 302: the answer is not Microsoft Entra's\)/u],
    [429, /\(HTTP 429: the answer is not Microsoft Entra's\)/u]
  ])("tells at once of an answer %j that is not Entra's, and not what it holds", async (status, sentence) => {
    const assertion = writeAssertion()
    const headers = { "content-type": "text/html", "retry-after": "3600", location: "https://127.0.0.1:1/" }
    entra.answer = { status, headers, body: `<html>${assertion}` }
    const before = entra.asked.length
    const text = await problem()
    expect(text).toMatch(sentence)
    expect(text).not.toContain("html")
    expect(entra.asked.length).toBe(before + 1)
  })

  it.each(["a\nb", "tök"])("is refused if no header can carry it, without telling it: %j", async (token) => {
    writeAssertion()
    const body = JSON.stringify({ token_type: "Bearer", expires_in: 3_600, access_token: token })
    entra.answer = { status: 200, headers: { "content-type": "application/json" }, body }
    const text = await problem()
    expect(text).toMatch(/ gets no token \(.*character 2 of 3 is a .*; let the operator's pod reach https:/u)
    expect(text).not.toContain(token)
  })

  it("tells at once that Entra wants fewer requests, in its words", async () => {
    writeAssertion()
    const body = JSON.stringify({ error: "temporarily_unavailable", error_description: "AADSTS90055: Too many." })
    entra.answer = { status: 429, headers: { "content-type": "application/json", "retry-after": "3600" }, body }
    expect(await problem()).toMatch(/\(AADSTS90055: Too many\); look the code up/u)
  })

  it.each([
    [
      "is empty",
      () => writeFileSync(join(folder, "token"), "\n"),
      /ENODATA: .*token is empty\); turn on workload identity/u
    ],
    [
      "is a folder",
      () => void (environment = { AZURE_FEDERATED_TOKEN_FILE: folder }),
      /EISDIR: .*turn on workload identity/u
    ]
  ])("tells that the file of the service account token %s", async (_what, spoil, sentence) => {
    spoil()
    expect(await problem()).toMatch(sentence)
    environment = {}
  })

  it("tells that the authority's certificate is not trusted", async () => {
    writeAssertion()
    const asked = Effect.flip(makeAksTokens(variables())(cluster()))
    expect(await Effect.runPromise(asked)).toMatch(/\(UNABLE_TO_VERIFY_LEAF_SIGNATURE: .*let the operator's pod reach/u)
  })

  it("tells that the authority cannot be reached", async () => {
    writeAssertion()
    const closed = createServer()
    const port = await listenLocally(closed)
    await new Promise((resolve) => closed.close(resolve))
    environment = { AZURE_AUTHORITY_HOST: `https://127.0.0.1:${port}/` }
    expect(await problem()).toMatch(/\(ECONNREFUSED: .*let the operator's pod reach https:\/\/127\.0\.0\.1:/u)
    environment = {}
  })
})
