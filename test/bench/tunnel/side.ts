/**
 * One side of the carriers that are the product's own, started by test/bench/tunnel.ts:
 *
 *     node side.ts near|far tunnel|direct FOLDER PORT
 *
 * `tunnel`: a cell and an outpost, without an operator around them. `direct`: a member that can be dialled, with a TLS
 * connection for each lane. The near side obeys orders in lines of JSON, and answers each with a line.
 */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { connect, createServer } from "node:tls"
import { Effect, Redacted } from "effect"
import { makeTunnelListener } from "../../../src/adapters/tunnel/cell-listener.ts"
import { makeTunnelDialler } from "../../../src/adapters/tunnel/tunnel-dialler.ts"
import { cellProblem, pinProblem, readMemberCertificate } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { type CellTunnel, RedemptionRefused, type TunnelIdentity } from "../../../src/ports/tunnel.ts"
import { obey, type Open, type Order, serve } from "./lanes.ts"

const [side = "", carrier = "", folder = "", port = "0"] = process.argv.slice(2)
const file = (name: string): string => readFileSync(join(folder, name), "utf8")
const say = (answer: object): void => console.log(JSON.stringify(answer))
const ready = (): void => say({ ready: true })

const identityOf = (name: string): TunnelIdentity => ({
  certificatePem: file(`${name}.pem`),
  keyPem: Redacted.make(file(`${name}.key`)),
  authoritiesPem: file("ca.pem")
})
const tlsOf = (name: string) => ({
  cert: file(`${name}.pem`),
  key: file(`${name}.key`),
  ca: file("ca.pem"),
  minVersion: "TLSv1.3" as const
})

const tunnelNear = Effect.gen(function* () {
  const identity = identityOf("cell")
  let stands: (tunnel: CellTunnel) => void
  const tunnel = new Promise<CellTunnel>((resolve) => (stands = resolve))
  yield* makeTunnelListener(readMemberCertificate).listen({
    hosts: ["127.0.0.1"],
    port: Number(port),
    bootstrapPort: 0,
    identity: () => identity,
    refusal: () => undefined,
    outside: () => "no token is taken here",
    redeem: () => new RedemptionRefused({ message: "no token is taken here" }),
    accepted: (one) => stands(one)
  })
  return async () => (await tunnel).openLane()
})

const tunnelFar = Effect.gen(function* () {
  const dialler = makeTunnelDialler({ cellProblem, pinProblem })
  yield* dialler.dial({ address: `127.0.0.1:${port}`, identity: identityOf("outpost"), serve })
  ready()
})

const directNear: Effect.Effect<Open> = Effect.sync(() => async () => {
  const options = { ...tlsOf("outpost"), host: "127.0.0.1", port: Number(port), servername: "localhost" }
  const socket = connect(options).setNoDelay(true)
  await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject))
  return socket
})

const directFar = Effect.sync(() => {
  const trust = { requestCert: true, rejectUnauthorized: true, noDelay: true }
  createServer({ ...tlsOf("cell"), ...trust }, serve).listen(Number(port), "127.0.0.1", ready)
})

const near = Effect.gen(function* () {
  const open = yield* carrier === "tunnel" ? tunnelNear : directNear
  ready()
  yield* Effect.promise(async () => {
    for await (const line of createInterface(process.stdin)) say(await obey(open, JSON.parse(line) as Order))
  })
})

const far = Effect.gen(function* () {
  if (carrier === "tunnel") yield* tunnelFar
  else yield* directFar
  return yield* Effect.never
})

// The programs end with the benchmark.
if (side === "far") process.stdin.resume().once("end", () => process.exit())
await (side === "near" ? Effect.runPromise(Effect.scoped(near)) : Effect.runPromise(Effect.scoped(far)))
process.exit()
