import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { stagedProgram } from "../../support/staged-image.ts"
import { callerIdentity, type IdentityStandIn, startIdentityStandIn } from "../../support/sts-stand-in.ts"

/** The import of the image's file of `src/adapters/aws/identity.ts`, which the bundler numbers. */
const importsSdk = /\bimport\("\.\/(identity\d*\.mjs)"\)/u
const date = Date.UTC(2026, 10, 25)
const role = { accessKeyId: "ASIAEXAMPLE", secretAccessKey: "secret", sessionToken: "session", arn: "arn:aws:sts::1:x" }

describe("the AWS SDK in the image", () => {
  let folder = ""
  let image = ""
  let standIn: IdentityStandIn
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "braid-aws-"))
    image = dirname(await stagedProgram())
    standIn = await startIdentityStandIn({ identity: role, expires: date + 3_600_000 })
  })
  afterAll(async () => {
    vi.useRealTimers()
    vi.unstubAllEnvs()
    await standIn.close()
    rmSync(folder, { recursive: true })
  })

  const textOf = (file: string): string => readFileSync(join(image, file), "utf8")
  const importedBy = (file: string): ReadonlyArray<string> =>
    [...textOf(file).matchAll(/^(?:import|export)\s[^;]*?"\.\/([\w-]+\.mjs)"/gmu)].map(([, other = ""]) => other)

  it("is loaded by no command before a cluster is eks", () => {
    const loaded = new Set(["operator-command.mjs", "doctor-command.mjs", "braid.mjs"])
    for (const file of loaded) for (const other of importedBy(file)) loaded.add(other)
    expect(loaded.size).toBeGreaterThan(5)
    expect([...loaded].filter((file) => textOf(file).includes("AWS4-HMAC-SHA256"))).toEqual([])
    const [sdk = ""] = [...loaded].flatMap((file) => importsSdk.exec(textOf(file))?.[1] ?? [])
    expect([sdk, ...importedBy(sdk)].some((file) => textOf(file).includes("AWS4-HMAC-SHA256"))).toBe(true)
  })

  it("gets an identity by IRSA there, and signs with it", async () => {
    vi.useFakeTimers({ now: date, toFake: ["Date"] })
    writeFileSync(join(folder, "token"), "a.b.c")
    for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) vi.stubEnv(name, undefined)
    vi.stubEnv("AWS_CONFIG_FILE", join(folder, "config"))
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", join(folder, "credentials"))
    vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::1:role/x")
    vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", join(folder, "token"))
    vi.stubEnv("AWS_REGION", "eu-west-1")
    vi.stubEnv("AWS_ENDPOINT_URL_STS", standIn.url)
    const sdk = importsSdk.exec(textOf("credential-maker.mjs"))?.[1] ?? ""
    const bundled = (await import(
      pathToFileURL(join(image, sdk)).href
    )) as typeof import("../../../src/adapters/aws/identity.ts")
    const { url } = await bundled.identityPresigner()({ clusterName: "c", region: "eu-north-1", date })
    const headers = { host: "sts.eu-north-1.amazonaws.com", "x-k8s-aws-id": "c" }
    expect(callerIdentity(new URL(url), headers, [role], date)).toBe(role)
  })
})
