import { once } from "node:events"
import { connect as connectTcp, type Socket } from "node:net"
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { makeTunnelListener } from "../../../src/adapters/tunnel/cell-listener.ts"
import { makeServingCertificate } from "../../../src/adapters/x509/serving-certificate.ts"
import { makeTunnelAuthority, pinOf, readMemberCertificate } from "../../../src/adapters/x509/tunnel-certificates.ts"
import type { DialFailed, DialOptions, TunnelIdentity } from "../../../src/ports/tunnel.ts"
import {
  cellIdentity,
  dialler,
  echo,
  outpostIdentity,
  startCell,
  type TestCell,
  tunnelLife
} from "../../support/tunnels.ts"

let cell: TestCell
beforeEach(async () => {
  cell = await startCell()
})
afterEach(() => cell.close())

const refused = async (identity: TunnelIdentity, more: Partial<DialOptions> = {}): Promise<DialFailed> =>
  Effect.runPromise(Effect.flip(Effect.scoped(dialler.dial({ address: cell.address, identity, serve: echo, ...more }))))

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.resume().once("close", () => resolve())
  })

/** A connection of a stranger. */
const stranger = (options: ConnectionOptions = {}): TLSSocket => {
  const [host = "", port] = cell.address.split(":")
  const own = { host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["braid-tunnel/1"], ...options }
  return connectTls(own).on("error", () => undefined)
}

describe("a cell", () => {
  it("knows a member by its certificate, and where it has dialled from", async () => {
    const identity = await outpostIdentity(cell.authority, "arn:aws:eks:x:1:cluster/b")
    await cell.dial({ identity })
    const { from, member } = await cell.tunnel(0)
    expect({ from, ...member }).toEqual({
      from: "127.0.0.1",
      name: "arn:aws:eks:x:1:cluster/b",
      keyId: pinOf(identity.certificatePem),
      until: Math.floor(tunnelLife.until / 1_000) * 1_000
    })
  })

  const expired = { from: Date.now() - 7_200_000, until: Date.now() - 3_600_000 }
  const future = { from: Date.now() + 3_600_000, until: Date.now() + 7_200_000 }
  const serving = async (): Promise<TunnelIdentity> => ({
    ...(await makeServingCertificate(["cluster-b"], tunnelLife)),
    authoritiesPem: ""
  })
  it.each([
    ["of another authority", async () => outpostIdentity(await makeTunnelAuthority(tunnelLife)), /\(UNABLE_TO_/],
    ["of the operator's own port", serving, /does not accept the certificate that was shown \(.+\)/],
    ["that has ended", () => outpostIdentity(cell.authority, "b", expired), /\(CERT_HAS_EXPIRED\).+join NAME --renew/],
    ["from the future", () => outpostIdentity(cell.authority, "b", future), /\(CERT_NOT_YET_VALID\)/],
    ["of a cell", () => cellIdentity(cell.authority), /not accept.+INVALID_PURPOSE|not the certificate of a member's/]
  ])("refuses a certificate %s, and says so", async (_what, make, message) => {
    const identity = { ...(await make()), authoritiesPem: cell.authority.certificatePem }
    expect(await refused(identity)).toMatchObject({ reason: "Refused", message: expect.stringMatching(message) })
    expect(cell.tunnels).toEqual([])
  })

  it("refuses a member that it is told to refuse, from the next connection on", async () => {
    const identity = await outpostIdentity(cell.authority)
    await cell.dial({ identity })
    cell.refusal = ({ name, keyId }) => `${name} has left (${keyId.length})`
    expect(await refused(identity)).toMatchObject({ reason: "Refused", message: "cluster-b has left (64)" })
    expect(cell.tunnels).toHaveLength(1)
  })

  it("tells a connection without a certificate to get one, and lets no other protocol in", async () => {
    const socket = stranger()
    const said = (await once(socket, "data"))[0] as Buffer
    expect(said.toString("latin1")).toContain("wants a certificate, and none was shown")
    await closed(socket)
    const { certificatePem, keyPem } = await outpostIdentity(cell.authority)
    const proof = { cert: certificatePem, key: Redacted.value(keyPem) }
    const others: ReadonlyArray<ConnectionOptions> = [
      { maxVersion: "TLSv1.2" },
      { ALPNProtocols: ["h2"] },
      { ALPNProtocols: [] }
    ]
    await Promise.all(others.map((options) => closed(stranger({ ...proof, ...options }))))
    expect(cell.tunnels).toEqual([])
  })

  it("lets each connection prove itself, one that was there before too", async () => {
    const { certificatePem, keyPem } = await outpostIdentity(cell.authority)
    const proof = { cert: certificatePem, key: Redacted.value(keyPem) }
    const first = stranger(proof)
    const [session] = (await once(first, "session")) as [Buffer]
    const second = stranger({ session })
    await once(second, "secureConnect")
    expect(second.isSessionReused()).toBe(false)
    first.destroy()
    second.destroy()
  })

  it("shows a renewed identity at once, and trusts its authorities from then on", async () => {
    const next = await makeTunnelAuthority(tunnelLife)
    const both = cell.authority.certificatePem + next.certificatePem
    const [older, newer] = [await outpostIdentity(cell.authority), await outpostIdentity(next)]
    expect(await refused({ ...newer, authoritiesPem: both })).toMatchObject({ reason: "Refused" })
    cell.identity = { ...(await cellIdentity(next)), authoritiesPem: both }
    expect(await refused(older)).toMatchObject({ reason: "Untrusted" })
    await cell.dial({ identity: { ...older, authoritiesPem: both } })
    await cell.dial({ identity: newer })
    expect(cell.tunnels).toHaveLength(2)
  })

  const silentStrangers = async (): Promise<ReadonlyArray<Socket>> => {
    const [host = "", port] = cell.address.split(":")
    const silent = Array.from({ length: 3 }, () => connectTcp(Number(port), host).on("error", () => undefined))
    await Promise.all(silent.map((socket) => once(socket, "connect")))
    return silent
  }

  it("has so many places for strangers, lets some others wait for one, and refuses the rest before TLS", async () => {
    await cell.close()
    cell = await startCell({ atOnce: 3, waiting: 1, perSecond: 1_000 })
    const silent = await silentStrangers()
    const identity = await outpostIdentity(cell.authority)
    const waiting = cell.dial({ identity })
    expect(await refused(identity)).toMatchObject({ reason: "Unreachable" })
    for (const socket of silent) socket.destroy()
    await waiting
  })

  it("takes the places of silent strangers back after a while", async () => {
    await cell.close()
    cell = await startCell({ atOnce: 3, waiting: 1, perSecond: 1_000, handshake: 1_000 })
    const ends = (await silentStrangers()).map(closed)
    await Promise.all([cell.dial(), ...ends])
  })

  it("has no bound for members that have proved themselves, from one address too", async () => {
    await cell.close()
    cell = await startCell({ atOnce: 1, perSecond: 1 })
    const identity = await outpostIdentity(cell.authority)
    for (let dial = 0; dial < 5; dial++) await cell.dial({ identity })
    expect(cell.tunnels).toHaveLength(5)
  })

  it("goes on after bytes that are no TLS", async () => {
    await cell.close()
    cell = await startCell({ handshake: 1_000 })
    const [host = "", port] = cell.address.split(":")
    for (const bytes of ["GET / HTTP/1.1\r\n\r\n", "\u0016\u0003\u0001\u00ff\u00ff", "\u0000".repeat(1000)]) {
      const socket = connectTcp(Number(port), host).on("error", () => undefined)
      socket.write(bytes)
      await closed(socket)
    }
    await cell.dial()
  })

  it("ends its tunnels and all else with its scope, and says so", async () => {
    const scope = Effect.runSync(Scope.make())
    const tunnel = await cell.dial({}, scope)
    const [host = "", port] = cell.address.split(":")
    const idle = connectTcp(Number(port), host).on("error", () => undefined)
    await once(idle, "connect")
    await cell.close()
    expect(await Effect.runPromise(tunnel.ended)).toMatch(/operator ends here/)
    await closed(idle)
    expect(await refused(await outpostIdentity(cell.authority))).toMatchObject({ reason: "Unreachable" })
  })

  it("bounds a member whose key is shut out like a stranger", async () => {
    await cell.close()
    cell = await startCell({ perSecond: 1 })
    cell.refusal = () => "gone"
    const identity = await outpostIdentity(cell.authority)
    const reasons = new Set<string>()
    for (let dial = 0; dial < 20; dial++) reasons.add((await refused(identity)).reason)
    expect([...reasons].toSorted()).toEqual(["Refused", "Unreachable"])
  })

  it("says when it cannot listen", async () => {
    const port = Number(cell.address.split(":")[1])
    const options = { ...cell, hosts: ["127.0.0.1"], identity: () => cell.identity, accepted: () => undefined }
    const scope = Effect.runSync(Scope.make())
    const listening = makeTunnelListener(readMemberCertificate).listen({ ...options, port: 0, bootstrapPort: port })
    const error = await Effect.runPromise(Effect.flip(listening).pipe(Scope.provide(scope)))
    expect(error.message).toMatch(new RegExp(`^port ${port} cannot be listened on \\(.*EADDRINUSE.*\\): take another`))
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
})
