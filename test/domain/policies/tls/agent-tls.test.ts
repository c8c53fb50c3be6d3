import * as Result from "effect/Result"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { appliesTo } from "../../../../src/domain/policies/target-pattern.ts"
import { agentTls, type AgentTls, otherTls, tlsNeedsLineage } from "../../../../src/domain/policies/tls/agent-tls.ts"
import type { TlsStealRules } from "../../../../src/domain/policies/tls/tls-steal-rules.ts"
import { portTls, tlsConfig } from "./tls-configs.ts"

const subject = {
  namespace: "default",
  lineage: [
    { kind: "pod", name: "boats-1", labels: { app: "boats" } },
    { kind: "deployment", name: "boats", labels: { team: "sea" } }
  ],
  containers: ["app"]
}
const found = (...all: ReadonlyArray<TlsStealRules>): AgentTls =>
  Result.getOrThrowWith(agentTls(all, subject), (problem) => new Error(problem))
const ports = (...all: ReadonlyArray<TlsStealRules>) => found(...all).ports.map(({ port }) => port)
const certificates = (...all: ReadonlyArray<TlsStealRules>) =>
  found(...all).ports.map(({ agentAsServer }) => agentAsServer.authentication.certPem)

const withCertificate = (port: number, certPem: string): object =>
  portTls(port, { agentAsServer: { authentication: { certPem, keyPem: "/key" } } })

const anyConfig = fc
  .record({
    name: fc.constantFrom("a", "b", "c", "d"),
    namespace: fc.constantFrom(undefined, "default", "other"),
    targetPath: fc.constantFrom(null, "deploy/boats", "*", "pod/cars*", "*/container/app", "service/*"),
    selector: fc.constantFrom(null, { matchLabels: { app: "boats" } }, { matchLabels: { app: "cars" } }),
    ports: fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom("/x", "/y")), {
      selector: ([port]) => port,
      maxLength: 4
    })
  })
  .map(({ name, namespace, ports: entries, selector, targetPath }) =>
    tlsConfig(
      { ports: entries.map(([port, file]) => withCertificate(port, file)), targetPath, selector },
      name,
      namespace
    )
  )
/** An API server has one object of a name in a place. */
const anyConfigs = fc.uniqueArray(anyConfig, { selector: ({ title }) => title, maxLength: 8 })

describe("the TLS ports of an agent", () => {
  it("are those of all objects that select its target, by name, label or namespace", () => {
    expect(ports(tlsConfig({ ports: [portTls(443)] }))).toEqual([443])
    expect(ports(tlsConfig({ ports: [portTls(443)] }, "t", "other"))).toEqual([])
    const byPath = tlsConfig({ ports: [portTls(8443)], targetPath: "deploy/boat?" }, "p")
    const byLabel = tlsConfig({ ports: [portTls(443)], selector: { matchLabels: { app: "boats" } } }, "l")
    const elsewhere = tlsConfig({ ports: [portTls(80)], targetPath: "deploy/cars" }, "e")
    expect(ports(byPath, byLabel, elsewhere)).toEqual([443, 8443])
    expect(ports(tlsConfig({ ports: [portTls(443)], targetPath: "deploy/boats/container/lib" }))).toEqual([])
  })

  it("come from the namespace's object before the cluster's, and then by name; the user of the other is told", () => {
    const cluster = tlsConfig({ ports: [withCertificate(443, "/cluster")] }, "a")
    const b = tlsConfig({ ports: [withCertificate(443, "/b")] }, "b", "default")
    const c = tlsConfig({ ports: [withCertificate(443, "/c"), withCertificate(80, "/c")] }, "c", "default")
    expect(certificates(cluster, c, b)).toEqual(["/c", "/b"])
    expect(found(cluster, c, b).leftOut).toEqual([
      "port 443 of default/c counts for nothing: default/b has that port too",
      "port 443 of a counts for nothing: default/b has that port too"
    ])
  })

  it("may stand in two objects with the same words", () => {
    const [one, two] = [tlsConfig({ ports: [portTls(443)] }, "a"), tlsConfig({ ports: [portTls(443)] }, "b")]
    expect(found(one, two)).toMatchObject({ ports: [{ port: 443 }], leftOut: [] })
  })

  it("are not known while an object that applies cannot be used; one for other targets does no harm", () => {
    const broken = (targetPath: string) => tlsConfig({ ports: [portTls(0)], targetPath }, "broken", "default")
    expect(agentTls([tlsConfig({ ports: [portTls(443)] }), broken("deploy/boats")], subject)).toEqual(
      Result.fail("default/broken cannot be used: spec.ports[0].port: 0 is no port of a server, which has 1 to 65535")
    )
    expect(ports(tlsConfig({ ports: [portTls(443)] }), broken("deploy/cars"))).toEqual([443])
  })

  it("are the same in whichever order the objects come, each port once, and all from objects that apply", () => {
    fc.assert(
      fc.property(anyConfigs, (configs) => {
        const forwards = found(...configs)
        expect(found(...configs.toReversed())).toEqual(forwards)
        const numbers = forwards.ports.map(({ port }) => port)
        expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
        const applying = configs.filter(({ target }) => appliesTo(target, subject))
        const all = applying.flatMap(({ ports: read }) => Result.getOrThrow(read))
        expect(new Set(numbers)).toEqual(new Set(all.map(({ port }) => port)))
        for (const entry of forwards.ports) expect(all).toContainEqual(entry)
        // A namespace's own object is never overruled by the cluster's.
        for (const { ports: read, target } of applying)
          if (target.namespace === undefined)
            for (const { port } of Result.getOrThrow(read)) {
              const own = applying
                .filter((other) => other.target.namespace !== undefined)
                .flatMap((other) => Result.getOrThrow(other.ports))
                .filter((entry) => entry.port === port)
              if (own.length > 0) expect(own).toContainEqual(forwards.ports.find((entry) => entry.port === port))
            }
      })
    )
  })

  it("ask for labels and owners only where an object selects by them", () => {
    expect(tlsNeedsLineage([tlsConfig({ ports: [] })])).toBe(false)
    expect(tlsNeedsLineage([tlsConfig({ ports: [] }), tlsConfig({ ports: [], targetPath: "*" })])).toBe(true)
  })
})

describe("an agent with other TLS settings than hold now", () => {
  it.each([
    [[], "Replace"],
    [["Gone", "Gone"], "Replace"],
    [["Gone", "Alive"], "Refuse"],
    [["Alive", "Asking"], "Keep"],
    [["Asking"], "Keep"]
  ] as const)("owned by %j: %s", (owners, way) => expect(otherTls(owners)).toBe(way))
})
