import { describe, expect, it } from "vitest"
import { aksFailure } from "../../../../src/domain/fleet/credentials/aks-failure.ts"

const identity = {
  tenantId: "contoso.com",
  clientId: "client",
  tokenFile: "/token",
  authorityHost: "https://login.microsoftonline.us/"
}

describe("a failure to get a token of Microsoft Entra", () => {
  it.each([
    ["AADSTS70021", "federated credential"],
    ["AADSTS700213", "federated credential"],
    ["AADSTS700016", "check that clientId"],
    ["AADSTS90002", "correct tenantId"],
    ["AADSTS500011", "belongs to this tenant"],
    ["AADSTS50166", "reach the OIDC issuer"],
    ["AADSTS700024", "set the clock"],
    ["AADSTS53003", "conditional access"],
    ["AADSTS1", "look the code up"]
  ])("%s is told with a cure, in the words that are the same each time", (code, cure) => {
    const message = `invalid_client: Error(s): 1 - Description: ${code}: It is\nwrong. Trace ID: 1 Correlation ID: 2`
    const text = aksFailure({ name: "AuthenticationRequiredError", message }, identity)
    expect(text).toContain(`client client of tenant contoso.com gets no token (${code}: It is wrong); `)
    expect(text).toContain(cure)
  })

  it("has the same words each time, whenever it is", () => {
    const at = (time: string) =>
      aksFailure(
        {
          name: "AuthenticationRequiredError",
          message:
            `AADSTS700024: Not in its time range. Current time: ${time}, assertion valid from 1. ` +
            `- Correlation ID: ${time}`
        },
        identity
      )
    expect(at("2026-11-25T00:00:01.1234567Z")).toBe(at("2026-11-25T00:00:02.1234567Z"))
    expect(at("1")).toContain("(AADSTS700024: Not in its time range. assertion valid from 1); set the clock")
  })

  it("without a word of Entra is told with its address", () => {
    expect(aksFailure({ name: "ECONNREFUSED", message: "connect ECONNREFUSED 1.2.3.4:443" }, identity)).toMatch(
      /\(ECONNREFUSED: connect ECONNREFUSED 1\.2\.3\.4:443\); let the operator's pod reach https:\/\/login\.microsoftonline\.us\//u
    )
  })

  it("does not repeat a secret", () => {
    const message = "AADSTS1: before 'eyJhbGciOi.eyJjYW5h.c2ln' after"
    expect(aksFailure({ name: "E", message }, identity)).toContain("(AADSTS1: before '…' after)")
  })
})
