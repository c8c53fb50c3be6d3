import { describe, expect, it } from "vitest"
import { forbiddenConnection, type OutgoingProtocol, SeenNames } from "../../../src/domain/policies/outgoing-rules.ts"
import type { SocketAddress } from "../../../src/domain/protocol/network-messages.ts"
import { policy } from "./policies.ts"

const outgoing = (rules: object) => policy({ network: { outgoing: rules } })
const to = (ip: string, port: number): SocketAddress => ({ _tag: "Ip", value: { ip, port } })
const unix: SocketAddress = { _tag: "Unix", value: { _tag: "Pathname", value: "/run/x.sock" } }
const example = outgoing({
  allow: [
    {
      ipBlock: { cidr: "10.0.0.0/16", except: ["10.0.5.0/24"] },
      ports: [
        { port: 80, protocol: "TCP" },
        { port: 53, protocol: "UDP" }
      ]
    },
    { hostname: "^metalbear\\.(co|com)$", ports: [{ port: 443, protocol: "TCP" }] }
  ],
  block: [{ ipBlock: { cidr: "0.0.0.0/0" }, ports: [{ port: 22, protocol: "TCP" }] }]
})

describe("an outgoing connection", () => {
  const names = new SeenNames()
  names.saw("MetalBear.com.", "1.2.3.4")

  it.each([
    ["TCP", to("10.0.1.1", 80), true],
    ["UDP", to("10.0.1.1", 80), false],
    ["UDP", to("10.0.1.1", 53), true],
    ["TCP", to("10.0.5.1", 80), false],
    ["TCP", to("1.2.3.4", 443), true],
    ["TCP", to("1.2.3.5", 443), false],
    ["TCP", to("10.0.1.1", 22), false],
    ["TCP", unix, false],
    ["Seqpacket", unix, false]
  ] as ReadonlyArray<readonly [OutgoingProtocol, SocketAddress, boolean]>)(
    "by the published example: %s %j is allowed: %s",
    (protocol, address, allowed) =>
      expect(forbiddenConnection([example], { protocol, address, names }) === undefined).toBe(allowed)
  )

  it("needs the permission of each policy", () => {
    const policies = [outgoing({ allow: [{ ports: [{ port: 80, protocol: "TCP" }] }] }), outgoing({ block: [{}] })]
    const connection = { protocol: "TCP", address: to("10.0.1.1", 80), names } as const
    expect(forbiddenConnection(policies.slice(0, 1), connection)).toBeUndefined()
    expect(forbiddenConnection(policies, connection)?.reason).toContain("network.outgoing.block")
    expect(forbiddenConnection([outgoing({})], connection)).toBeUndefined()
  })

  it("to an IPv4 address in its IPv6 form has the names of the IPv4 one, and the other way round", () => {
    const seen = new SeenNames()
    seen.saw("db.internal", "10.0.0.7")
    seen.saw("queue.internal", "::ffff:10.0.0.8")
    const rules = [{ hostname: "internal$" }]
    for (const ip of ["10.0.0.7", "::ffff:10.0.0.7", "64:ff9b::10.0.0.7", "10.0.0.8", "::ffff:10.0.0.8"]) {
      const connection = { protocol: "TCP", address: to(ip, 80), names: seen } as const
      expect(forbiddenConnection([outgoing({ block: rules })], connection), ip).toBeDefined()
      expect(forbiddenConnection([outgoing({ allow: rules })], connection), ip).toBeUndefined()
    }
  })

  it.each(["::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "64:ff9b:1::10.1.2.3", "::10.1.2.3", "2002:a01:203::1"])(
    "to %s may reach 10.1.2.3, so rules about that hold",
    (ip) => {
      const connection = { protocol: "TCP", address: to(ip, 80), names } as const
      const block = [{ ipBlock: { cidr: "10.0.0.0/8" } }]
      expect(forbiddenConnection([outgoing({ block })], connection)).toBeDefined()
      const internet = [
        { ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } },
        { ipBlock: { cidr: "::/0", except: ["fd00::/8"] } }
      ]
      expect(forbiddenConnection([outgoing({ allow: internet })], connection)).toBeDefined()
    }
  )

  it.each([
    ["0.0.0.0", "127.0.0.0/8"],
    ["0.0.0.0", "0.0.0.0/32"],
    ["::ffff:0.0.0.0", "127.0.0.1/32"],
    ["::", "::1/128"]
  ])("to %s reaches the target itself, so a rule about %s holds", (ip, cidr) => {
    const family = cidr.includes(":") ? "::/0" : "0.0.0.0/0"
    const connection = { protocol: "TCP", address: to(ip, 80), names } as const
    expect(forbiddenConnection([outgoing({ block: [{ ipBlock: { cidr } }] })], connection)).toBeDefined()
    const allBut = [{ ipBlock: { cidr: family, except: [cidr] } }]
    expect(forbiddenConnection([outgoing({ allow: allBut })], connection)).toBeDefined()
  })

  it("is forbidden by any blocked name once names had to be forgotten", () => {
    const many = new SeenNames()
    const blocked = [outgoing({ block: [{ hostname: "evil" }] })]
    const connection = { protocol: "TCP", address: to("9.9.9.9", 80), names: many } as const
    for (let i = 0; i < 20_000; i++) many.saw(`host-${i}`, `1.1.${i >> 8}.${i & 0xff}`)
    expect(forbiddenConnection(blocked, connection)).toBeUndefined()
    many.saw("evil", "9.9.9.9")
    expect(forbiddenConnection(blocked, connection)).toBeDefined()
  })

  it("to an address with very many names is forbidden by any blocked name, and others are not", () => {
    const many = new SeenNames()
    const rules = [{ hostname: "evil" }]
    const connectionTo = (ip: string) => ({ protocol: "TCP", address: to(ip, 80), names: many }) as const
    for (let i = 0; i < 200; i++) many.saw(`host-${i}`, "1.1.1.1")
    expect(forbiddenConnection([outgoing({ block: rules })], connectionTo("1.1.1.1"))).toBeUndefined()
    many.saw("evil", "1.1.1.1")
    expect(many.of("1.1.1.1").size).toBe(200)
    expect(forbiddenConnection([outgoing({ block: rules })], connectionTo("1.1.1.1"))).toBeDefined()
    expect(forbiddenConnection([outgoing({ block: rules })], connectionTo("2.2.2.2"))).toBeUndefined()
    expect(forbiddenConnection([outgoing({ allow: rules })], connectionTo("1.1.1.1"))).toBeDefined()
  })
})
