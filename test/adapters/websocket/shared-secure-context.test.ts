import { KubeConfig } from "@kubernetes/client-node"
import { beforeAll, describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { withSharedContext } from "../../../src/adapters/websocket/shared-secure-context.ts"

let authorities: ReadonlyArray<string> = []
beforeAll(async () => {
  const made = await Promise.all(["first", "second"].map((name) => createAuthority(name, Date.now)))
  authorities = made.map(({ caPem }) => caPem)
})

describe("the TLS context of links", () => {
  it("is one for all links of a cluster, and takes the place of what it was made from", () => {
    const config = new KubeConfig()
    const [ca = ""] = authorities
    const options = withSharedContext(config, { ca: Buffer.from(ca), servername: "member" })
    expect(options).toEqual({ servername: "member", secureContext: options.secureContext })
    expect(withSharedContext(config, { ca: Buffer.from(ca) }).secureContext).toBe(options.secureContext)
  })

  it("is another one for another cluster, and when the authorities have changed", () => {
    const config = new KubeConfig()
    const [first, second] = authorities
    const { secureContext } = withSharedContext(config, { ca: first })
    expect(withSharedContext(new KubeConfig(), { ca: first }).secureContext).not.toBe(secureContext)
    expect(withSharedContext(config, { ca: second }).secureContext).not.toBe(secureContext)
  })

  it("is not made from what is no certificate", () =>
    expect(() => withSharedContext(new KubeConfig(), { cert: "no certificate", key: "no key" })).toThrow(/PEM/u))
})
