import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type AgentCertificate, agentCertificateLife, whyUnfit } from "../../../src/domain/agents/agent-transport.ts"

const day = 86_400_000
const now = Date.UTC(2026, 0, 1)
const ours = (life = agentCertificateLife(now)): AgentCertificate => ({
  _tag: "Ours",
  serverName: "mirrord-agent-x-1f",
  life
})
const certificates = fc.oneof(
  fc.constantFrom<AgentCertificate>({ _tag: "None" }, { _tag: "Foreign" }),
  fc.integer({ min: 0, max: 400 * day }).map((ago) => ours(agentCertificateLife(now - ago)))
)

describe("an agent that is there", () => {
  it.each<[string, boolean, AgentCertificate, string | undefined]>([
    ["that was started for this operator", true, ours(), undefined],
    ["that speaks clear text as it is to", false, { _tag: "None" }, undefined],
    ["of before TLS was turned on", true, { _tag: "None" }, "clear text, and agents are to speak TLS"],
    ["of before TLS was turned off", false, { _tag: "Foreign" }, "TLS, and agents are to speak clear text"],
    ["of an operator with another key", true, { _tag: "Foreign" }, "not of the key"],
    ["whose certificate is over tomorrow", true, ours(agentCertificateLife(now - 364 * day - 1)), "not valid now"],
    ["whose certificate begins tomorrow", true, ours(agentCertificateLife(now + 2 * day)), "not valid now"]
  ])("%s: TLS %s", (_what, isEncrypted, certificate, reason) => {
    const why = whyUnfit({ name: "mirrord-agent-x", certificate, isEncrypted }, now)
    if (reason === undefined) expect(why).toBeUndefined()
    else expect(why).toContain(reason)
  })

  it("is not used with the certificate of another one, however alike their names are", () => {
    for (const name of ["mirrord-agent-y", "mirrord-agent-x-1", "mirrord-agent-"])
      expect(whyUnfit({ name, certificate: ours(), isEncrypted: true }, now)).toBe(
        "its certificate was made for another agent"
      )
  })

  it("is used only as agents are to speak, and for clear text no key counts", () => {
    fc.assert(
      fc.property(certificates, fc.boolean(), (certificate, isEncrypted) => {
        if (whyUnfit({ name: "mirrord-agent-x", certificate, isEncrypted }, now) !== undefined) return
        expect(certificate._tag).toBe(isEncrypted ? "Ours" : "None")
      })
    )
  })

  it("that was made by the same operator is used for 363 days, whatever its clock says by less than a day", () => {
    fc.assert(
      fc.property(fc.integer({ min: -day, max: 364 * day }), (later) => {
        expect(
          whyUnfit({ name: "mirrord-agent-x", certificate: ours(), isEncrypted: true }, now + later)
        ).toBeUndefined()
      })
    )
  })
})
