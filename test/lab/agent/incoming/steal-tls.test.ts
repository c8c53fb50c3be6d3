/** The reference agent reads the TLS ports that the operator gives to an agent. The traffic is in `tls-suite.ts`. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { readStealTls } from "../../../../lab/agent/incoming/steal-tls.ts"
import { tlsValue } from "../../../../src/adapters/agents/agent-tls-variable.ts"

const ports = [
  {
    port: 443,
    agentAsServer: {
      authentication: { certPem: "/cert.pem", keyPem: "/key.pem" },
      alpnProtocols: ["h2"],
      verification: { allowAnonymous: true, acceptAnyCert: false, trustRoots: ["/roots"] }
    },
    agentAsClient: { verification: { acceptAnyCert: false, trustRoots: ["/ca.pem"] } }
  }
]

describe("the variable with the ports that serve TLS", () => {
  it("is read as the operator writes it", () => {
    expect(readStealTls(tlsValue(ports, {}))).toEqual(Result.succeed(ports))
    expect(readStealTls(undefined)).toEqual(Result.succeed([]))
  })

  it.each([["%"], [Buffer.from('[{"port":443}]').toString("base64")]])("%j is refused with its name", (value) => {
    expect(readStealTls(value)).toMatchObject({
      failure: expect.stringMatching(/^MIRRORD_AGENT_STEAL_TLS_CONFIG cannot be read: /)
    })
  })
})
