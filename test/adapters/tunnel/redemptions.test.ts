import "reflect-metadata"
import { webcrypto } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request } from "node:https"
import { json } from "node:stream/consumers"
import { connect as connectTls } from "node:tls"
import { ExtendedKeyUsage, X509Certificate } from "@peculiar/x509"
import { Deferred, Effect, Redacted } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { makeServingCertificate } from "../../../src/adapters/x509/serving-certificate.ts"
import {
  leafExtensions,
  makeKeys,
  privateKeyPem,
  signCertificate
} from "../../../src/adapters/x509/sign-certificate.ts"
import {
  type KeptCertificate,
  makeTunnelAuthority,
  pinOf,
  signCell,
  signNextAuthority
} from "../../../src/adapters/x509/tunnel-certificates.ts"
import {
  DialFailed,
  RedemptionRefused,
  type Redemption,
  type RedeemOptions,
  type TunnelIdentity
} from "../../../src/ports/tunnel.ts"
import { cellIdentity, dialler, outpostIdentity, startCell, type TestCell, tunnelLife } from "../../support/tunnels.ts"
import { untilTrue } from "../../support/until-true.ts"
import { until } from "../../support/until.ts"

let cell: TestCell
beforeEach(async () => {
  cell = await startCell({ redemption: 100 })
})
afterEach(() => cell.close())

/** A cell's certificate as far as names go. Its signature alone is not the authority's. */
const forgedCell = async ({ certificatePem }: KeptCertificate): Promise<TunnelIdentity> => {
  const authority = new X509Certificate(certificatePem)
  const [own, other] = [await makeKeys(true), await makeKeys(true)]
  const leaf = await signCertificate({
    subject: "CN=braid cell",
    issuer: authority.subject,
    life: tunnelLife,
    publicKey: own.publicKey,
    // With the authority's public key, from which the identifier of its key is made.
    signer: { privateKey: other.privateKey, publicKey: await authority.publicKey.export(webcrypto) },
    extensions: leafExtensions(ExtendedKeyUsage.serverAuth, [{ type: "url", value: "braid:cell" }])
  })
  const keyPem = await privateKeyPem(own.privateKey)
  return { certificatePem: leaf + certificatePem, keyPem, authoritiesPem: certificatePem }
}

const redeemed = {
  certificatePem: "certificate",
  authoritiesPem: "authorities",
  sequence: { epoch: "one", number: 7 }
}
const secret = "very-secret"
const redeem = (more: Partial<RedeemOptions> = {}) =>
  dialler.redeem({
    address: cell.bootstrapAddress,
    pin: pinOf(cell.authority.certificatePem),
    token: Redacted.make(secret),
    requestPem: "a request",
    ...more
  })
const failure = async (more: Partial<RedeemOptions> = {}): Promise<DialFailed> => {
  const error = await Effect.runPromise(Effect.flip(redeem(more)))
  expect(JSON.stringify(error) + error.message).not.toContain(secret)
  return error
}

/** A request of a stranger that trusts every certificate. */
const send = async (
  method: string,
  path: string,
  body: string | Buffer = ""
): Promise<{ status?: number | undefined; body: unknown }> => {
  const [host = "", port] = cell.bootstrapAddress.split(":")
  const sent = request({ host, port, method, path, rejectUnauthorized: false, agent: false }).on(
    "error",
    () => undefined
  )
  sent.end(body)
  const [response] = (await once(sent, "response")) as [IncomingMessage]
  return { status: response.statusCode, body: await json(response) }
}

/** Waits until the cell hangs up on a stranger that has sent these bytes. */
const hungUp = async (bytes: string): Promise<void> => {
  const [host = "", port] = cell.bootstrapAddress.split(":")
  const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false }).on("error", () => undefined)
  socket.write(bytes)
  socket.resume()
  await untilTrue("it is closed", () => socket.destroyed)
}

describe("redemptions of tokens", () => {
  it("give a certificate for a token, with the authorities to trust", async () => {
    const seen = new Array<Redemption>()
    cell.redeem = (redemption) => {
      seen.push(redemption)
      return Effect.succeed(redeemed)
    }
    const pin = pinOf(cell.authority.certificatePem).toUpperCase()
    expect(await Effect.runPromise(redeem({ pin }))).toEqual(redeemed)
    expect(seen).toEqual([{ token: Redacted.make(secret), requestPem: "a request", from: "127.0.0.1" }])
  })

  it("are granted to both pins while the authority is exchanged, and tunnels to all who know either", async () => {
    const next = await makeTunnelAuthority(tunnelLife)
    const { authority } = cell
    const cross = await signNextAuthority(authority, next, tunnelLife)
    const bundle = authority.certificatePem + next.certificatePem
    const shown = await signCell(next, ["cell.invalid"], tunnelLife, cross + authority.certificatePem)
    cell.identity = { ...shown, authoritiesPem: bundle }
    cell.redeem = () => Effect.succeed(redeemed)
    for (const { certificatePem } of [authority, next])
      expect(await Effect.runPromise(redeem({ pin: pinOf(certificatePem) }))).toEqual(redeemed)
    expect(await failure({ pin: pinOf((await makeTunnelAuthority(tunnelLife)).certificatePem) })).toMatchObject({
      message: expect.stringContaining("the pin of the token's command")
    })
    for (const signer of [authority, next])
      for (const trusted of [authority.certificatePem, next.certificatePem, bundle])
        await cell.dial({ identity: { ...(await outpostIdentity(signer)), authoritiesPem: trusted } })
    await until("all have a tunnel", () => (cell.tunnels.length === 6 ? true : undefined))
  })

  it("are refused in the words of the cell", async () => {
    cell.redeem = () => new RedemptionRefused({ message: "the token is not good" })
    expect(await failure()).toMatchObject({ reason: "Refused", message: "the token is not good" })
    expect(await send("POST", "/redeem", '{"token":"x","request":"y"}')).toMatchObject({ status: 401 })
  })

  it("are asked for again where the cell says that its refusal may pass", async () => {
    cell.redeem = () => new RedemptionRefused({ message: "not yet", mayPass: true })
    expect(await failure()).toMatchObject({ reason: "Unreachable", message: expect.stringContaining("not yet") })
    expect(await send("POST", "/redeem", '{"token":"x","request":"y"}')).toMatchObject({ status: 503 })
  })

  it("may be asked for again when the cell's operator failed, of which nothing is told", async () => {
    cell.redeem = () => Effect.die(new Error(`a defect with ${secret}`))
    expect(await failure()).toMatchObject({ reason: "Unreachable", message: expect.stringMatching(/see its log$/) })
  })

  it("may take longer to grant than to come", async () => {
    const granted = Deferred.makeUnsafe<void>()
    const asked = Deferred.makeUnsafe<void>()
    cell.redeem = () =>
      Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(granted)), Effect.as(redeemed))
    const redeeming = Effect.runPromise(redeem())
    await Effect.runPromise(Deferred.await(asked))
    // Its time begins later, so the other's is over when it is.
    await hungUp("")
    Deferred.doneUnsafe(granted, Effect.void)
    expect(await redeeming).toEqual(redeemed)
  })

  it("end with the cell", async () => {
    const begun = Deferred.makeUnsafe<void>()
    let isInterrupted = false
    cell.redeem = () =>
      Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Effect.sync(() => void (isInterrupted = true)))
      )
    const failing = failure()
    await Effect.runPromise(Deferred.await(begun))
    await cell.close()
    expect(await failing).toMatchObject({ reason: "Unreachable" })
    expect(isInterrupted).toBe(true)
  })

  const future = { from: tunnelLife.from + 3_600_000, until: tunnelLife.until }
  it.each([
    ["another authority", async () => cellIdentity(await makeTunnelAuthority(tunnelLife)), /the pin of the token's/],
    ["the same authority, as a member", () => outpostIdentity(cell.authority), /not made for this side of a tunnel/],
    [
      "another one that shows the pinned one beside it",
      async () => {
        const { certificatePem, keyPem } = await makeServingCertificate(["cell.invalid"], tunnelLife)
        return { certificatePem: certificatePem + cell.authority.certificatePem, keyPem, authoritiesPem: "" }
      },
      /the pin of the token's command/
    ],
    ["another one that has the pinned one's name", () => forgedCell(cell.authority), /the pin of the token's command/],
    ["the same authority, from the future", () => cellIdentity(cell.authority, future), /look at the clocks/]
  ])("never see a token when the certificate is of %s", async (_what, make, message) => {
    const redeemed = vi.fn(() => new RedemptionRefused({ message: "no" }))
    cell.redeem = redeemed
    cell.identity = await make()
    expect(await failure()).toMatchObject({ reason: "Untrusted", message: expect.stringMatching(message) })
    expect(redeemed).not.toHaveBeenCalled()
  })

  it.each([
    ["another path", "POST", "/", "{}", 404],
    ["another method", "PUT", "/redeem", "{}", 405],
    ["no JSON", "POST", "/redeem", "token=x", 400],
    ["JSON without the texts", "POST", "/redeem", '{"token":5,"request":"y"}', 400],
    ["no bytes", "POST", "/redeem", "", 400],
    ["more bytes than any redemption", "POST", "/redeem", Buffer.alloc(9_000, "x"), 413]
  ])("are not asked for with %s", async (_what, method, path, body, status) => {
    const redeemed = vi.fn(() => new RedemptionRefused({ message: "no" }))
    cell.redeem = redeemed
    expect(await send(method, path, body)).toEqual({ status, body: { message: expect.any(String) } })
    expect(redeemed).not.toHaveBeenCalled()
  })

  it("are not read from an address that is outside, which hears so", async () => {
    const redeemed = vi.fn(() => new RedemptionRefused({ message: "no" }))
    cell.redeem = redeemed
    cell.outside = (from) => `no tokens from ${from}`
    expect(await failure()).toMatchObject({ reason: "Refused", message: "no tokens from 127.0.0.1" })
    expect(await send("POST", "/redeem", Buffer.alloc(9_000, "x"))).toMatchObject({ status: 403 })
    expect(redeemed).not.toHaveBeenCalled()
  })

  it.each([
    ["says nothing", ""],
    ["never ends its head", "POST /redeem HTTP/1.1\r\n"],
    ["never ends its body", "POST /redeem HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"]
  ])("hang up on a stranger that %s", async (_what, bytes) => {
    await hungUp(bytes)
  })
})
