import * as Result from "effect/Result"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { portTls, problemOf, tlsConfig } from "./tls-configs.ts"

const authentication = { certPem: "/tls/cert.pem", keyPem: "/tls/key.pem" }
const anyServer = { verification: { acceptAnyCert: true } }
const withServer = (server: object) =>
  tlsConfig({ ports: [portTls(443, { agentAsServer: { authentication, ...server } })] })
const withClient = (client: object) => tlsConfig({ ports: [portTls(443, { agentAsClient: client })] })

describe("a TLS configuration", () => {
  it("says everything to the agent, and leaves out what nobody has set", () => {
    const whole = portTls(443, {
      agentAsServer: {
        authentication,
        alpnProtocols: ["h2", "http/1.1"],
        verification: { allowAnonymous: true, acceptAnyCert: false, trustRoots: ["/tls/clients"] }
      },
      agentAsClient: { authentication, verification: { acceptAnyCert: false, trustRoots: ["/tls/roots.pem"] } }
    })
    expect(tlsConfig({ ports: [whole] }).ports).toEqual(Result.succeed([whole]))
    expect(
      tlsConfig({ ports: [portTls(443, { agentAsClient: { ...anyServer, authentication: null } })] }).ports
    ).toEqual(
      Result.succeed([
        {
          port: 443,
          agentAsServer: { authentication, alpnProtocols: [] },
          agentAsClient: { verification: { acceptAnyCert: true, trustRoots: [] } }
        }
      ])
    )
  })

  it("is for the targets that it selects as a policy does", () => {
    const { target } = tlsConfig({ ports: [], targetPath: "deploy/*", selector: null }, "t", "default")
    expect(target).toEqual({
      namespace: "default",
      paths: [{ resource: "deploy/*", container: undefined }],
      selector: undefined
    })
  })

  it.each([
    ["port 0", tlsConfig({ ports: [portTls(0)] }), "spec.ports[0].port: 0 is no port"],
    [
      "a port twice",
      tlsConfig({ ports: [portTls(443), portTls(80), portTls(443)] }),
      "spec.ports[2].port: the port 443 stands in this list twice"
    ],
    [
      "a relative path",
      withServer({ authentication: { ...authentication, certPem: "cert.pem" } }),
      "spec.ports[0].agentAsServer.authentication.certPem: it is no absolute path"
    ],
    [
      "an empty path",
      withClient({ ...anyServer, authentication: { ...authentication, keyPem: "" } }),
      "spec.ports[0].agentAsClient.authentication.keyPem: it is no absolute path"
    ],
    [
      "roots that are no paths",
      withClient({ verification: { trustRoots: ["/a", "b"] } }),
      "spec.ports[0].agentAsClient.verification.trustRoots[1]: it is no absolute path"
    ],
    ["a line break", withClient({ verification: { trustRoots: ["/a\n/b"] } }), "it has a control character in it"],
    [
      "a server that no root vouches for",
      withClient({ verification: {} }),
      "spec.ports[0].agentAsClient.verification: no certificate would pass"
    ],
    [
      "clients for whom no root vouches",
      withServer({ verification: { acceptAnyCert: false } }),
      "spec.ports[0].agentAsServer.verification: no certificate would pass"
    ],
    ["a nameless protocol", withServer({ alpnProtocols: ["h2", ""] }), "alpnProtocols[1]: it is no name of a protocol"],
    [
      "a field of a newer definition",
      withClient({ verification: { acceptAnyCert: true, serverName: "web" } }),
      "spec.ports[0].agentAsClient.verification.serverName: this operator does not know this field"
    ],
    [
      "too many ports",
      tlsConfig({ ports: Array.from({ length: 501 }, (_, i) => portTls(i + 1)) }),
      "spec.ports: it has 501 entries"
    ]
  ])("with %s is refused, and the sentence names the field", (_what, rules, problem) =>
    expect(problemOf(rules)).toContain(problem)
  )

  it("may let clients in that show no certificate, without a root", () =>
    expect(problemOf(withServer({ verification: { allowAnonymous: true } }))).toBeUndefined())

  it("with a key instead of a path is refused, and the sentence has nothing of the key", () => {
    fc.assert(
      fc.property(fc.base64String({ minLength: 40 }), fc.constantFrom("certPem", "keyPem"), (secret, field) => {
        const keyPem = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`
        const problem = problemOf(withServer({ authentication: { ...authentication, [field]: keyPem } }))
        expect(problem).toContain(`${field}: it holds the text of a PEM file`)
        expect(problem).not.toContain(secret)
      })
    )
  })

  it("whose pattern cannot be read may concern every target of its namespace", () => {
    const rules = tlsConfig({ ports: [portTls(443)], targetPath: "x".repeat(1_001) }, "t", "default")
    expect(rules.target).toEqual({ namespace: "default", paths: undefined, selector: undefined })
    expect(problemOf(rules)).toBe("spec.targetPath: it has more than 1000 characters")
  })
})
