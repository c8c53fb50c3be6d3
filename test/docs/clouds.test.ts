/** docs/operating/clouds.md: the trust policy of an AWS role names what the chart makes. */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { at } from "../../src/domain/json.ts"

const page = readFileSync(new URL("../../docs/operating/clouds.md", import.meta.url), "utf8")
const [, block = ""] = /^```json\n([^`]*)^```$/mu.exec(page) ?? []
const policy: unknown = JSON.parse(block)
const values: unknown = parse(
  readFileSync(new URL("../../charts/mirrord-operator/values.yaml", import.meta.url), "utf8")
)

describe("the trust policy for EKS", () => {
  it("names the issuer of the primary's cluster as identity provider", () => {
    expect(at(policy, "Principal", "Federated")).toMatch(/^arn:aws:iam::ACCOUNT:oidc-provider\/oidc\.eks\..*\/id\/ID$/u)
    expect(page).toContain("issuer of the **primary's** cluster must be an identity provider of the account")
  })

  it("names the operator's account and AWS as the audience", () => {
    const conditions = Object.entries(at(policy, "Condition", "StringEquals") as Readonly<Record<string, string>>)
    const of = (claim: string): string | undefined => conditions.find(([key]) => key.endsWith(`:${claim}`))?.[1]
    const account = `${String(at(values, "namespace"))}:${String(at(values, "sa", "name"))}`
    expect(of("sub")).toBe(`system:serviceaccount:${account}`)
    expect(of("aud")).toBe("sts.amazonaws.com")
  })
})
