import { once } from "node:events"
import { createServer, connect, type TLSSocket } from "node:tls"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { makeServingCertificate, readServingLife } from "../../../src/adapters/x509/serving-certificate.ts"

const host = "mirrord-operator.mirrord.svc"
const life = {
  from: Math.floor(Date.now() / 1000) * 1000 - 3_600_000,
  until: Math.floor(Date.now() / 1000) * 1000 + 3_600_000
}

/** Whether a client that trusts a bundle takes a server with this certificate for the host. */
const isTrusted = async (
  { certificatePem, keyPem }: Awaited<ReturnType<typeof makeServingCertificate>>,
  ca: string,
  servername = host
): Promise<boolean> => {
  const server = createServer({ cert: certificatePem, key: Redacted.value(keyPem) })
  server.on("secureConnection", (socket) => socket.on("error", () => undefined).end())
  server.on("tlsClientError", () => undefined)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const socket: TLSSocket = connect({ host: "127.0.0.1", port, servername, ca })
  try {
    await once(socket, "secureConnect")
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
    server.close()
  }
}

describe("a serving certificate", () => {
  it("is trusted by its authority, for its name alone, and beside other authorities in a bundle", async () => {
    const [one, other] = [await makeServingCertificate([host], life), await makeServingCertificate([host], life)]
    const bundle = `${one.authorityPem}${other.authorityPem}`
    expect([
      await isTrusted(one, one.authorityPem),
      await isTrusted(one, bundle),
      await isTrusted(other, bundle),
      await isTrusted(one, other.authorityPem),
      await isTrusted(one, one.authorityPem, "somebody.else.svc")
    ]).toEqual([true, true, true, false, false])
  })

  it("that was kept is read again with its dates, and not if anything about it does not fit", async () => {
    const [one, other] = [await makeServingCertificate([host], life), await makeServingCertificate([host], life)]
    expect(readServingLife(one, host)).toEqual(life)
    expect(readServingLife(one, "other.mirrord.svc")).toBeUndefined()
    for (const wrong of [
      { keyPem: other.keyPem },
      { authorityPem: other.authorityPem },
      { certificatePem: one.authorityPem },
      { certificatePem: "no certificate" },
      { keyPem: Redacted.make("no key") },
      { authorityPem: "" }
    ])
      expect([wrong, readServingLife({ ...one, ...wrong }, host)]).toEqual([wrong, undefined])
  })

  it("does not print its key", async () => {
    const made = await makeServingCertificate([host], life)
    expect(JSON.stringify(made)).not.toContain("PRIVATE")
    expect(String(made.keyPem)).not.toContain("PRIVATE")
  })
})
