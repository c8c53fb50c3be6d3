import { generateKeyPairSync } from "node:crypto"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { beforeAll, describe, expect, it } from "vitest"
import { signJwt, startEntraStandIn } from "../../support/entra-stand-in.ts"
import { stagedProgram } from "../../support/staged-image.ts"

/** The image's file with the Azure SDK, named after `src/adapters/azure/entra.ts`. */
const sdk = "entra.mjs"
/** A text of the SDK. */
const mark = "ClientAssertionCredential: tenantId is a required parameter"

describe("the Azure SDK in the image", () => {
  let image = ""
  beforeAll(async () => {
    image = dirname(await stagedProgram())
  })

  it("is loaded by no command before a cluster is aks", () => {
    const textOf = (file: string): string => readFileSync(join(image, file), "utf8")
    const loaded = new Set(["operator-command.mjs", "doctor-command.mjs", "braid.mjs"])
    for (const file of loaded)
      for (const [, other = ""] of textOf(file).matchAll(/^import\s[^;]*?"\.\/([\w-]+\.mjs)"/gmu)) loaded.add(other)
    expect([...loaded].filter((file) => textOf(file).includes(mark))).toEqual([])
    expect(textOf(sdk)).toContain(mark)
    expect([...loaded].some((file) => textOf(file).includes(`import("./${sdk}")`))).toBe(true)
  })

  it("exchanges a service account token there", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const trusted = { issuer: "https://oidc.example.com/", subject: "system:serviceaccount:mirrord:mirrord-operator" }
    const entra = await startEntraStandIn({
      tenant: "contoso.com",
      identities: [{ clientId: "client", objectId: "object", groups: [], ...trusted }],
      issuerKey: () => publicKey
    })
    const claims = { iss: trusted.issuer, sub: trusted.subject, aud: "api://AzureADTokenExchange", exp: 9_999_999_999 }
    const { entraToken } = (await import(
      pathToFileURL(join(image, sdk)).href
    )) as typeof import("../../../src/adapters/azure/entra.ts")
    const { token } = await entraToken(
      {
        authorityHost: entra.authorityHost,
        tenantId: "contoso.com",
        clientId: "client",
        assertion: signJwt(claims, privateKey),
        certificateAuthority: entra.caPem
      },
      new AbortController().signal
    )
    expect(token.split(".")).toHaveLength(3)
    await entra.close()
  })
})
