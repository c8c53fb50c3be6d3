/**
 * Redeems a token at the cell: verifies the authority's pin first, and only then sends the token.
 *
 * Not here: the cell's side (redemptions.ts).
 */

import type { X509Certificate } from "node:crypto"
import { request as sendRequest } from "node:http"
import type { TLSSocket } from "node:tls"
import { Clock, Effect, Redacted } from "effect"
import { quotation } from "../../domain/clean-text.ts"
import { parseObject } from "../../domain/json.ts"
import type { DialFailed, Redeemed, RedeemOptions } from "../../ports/tunnel.ts"
import { dialCell, failed, untrusted, withPatience } from "./dial-cell.ts"
import { redeemPath } from "./redemptions.ts"

/** Longest answer to a redemption, in bytes. */
const maxAnswer = 64 * 1024

interface Answer {
  readonly status: number
  readonly body: string
}

/** Sends the token. The failure is a clause without the token. */
const post = (socket: TLSSocket, { requestPem, token }: RedeemOptions): Effect.Effect<Answer, string> =>
  Effect.callback((resume) => {
    const body = JSON.stringify({ token: Redacted.value(token), request: requestPem })
    const headers = { host: "cell", "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    const request = sendRequest({ createConnection: () => socket, method: "POST", path: redeemPath, headers })
    request.on("error", ({ message }) => resume(Effect.fail(message)))
    request.once("response", (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece
        if (text.length > maxAnswer) request.destroy(new Error("its answer is longer than any cell's"))
      })
      response.once("end", () => resume(Effect.succeed({ status: response.statusCode ?? 0, body: text })))
      response.once("error", ({ message }) => resume(Effect.fail(message)))
    })
    request.end(body)
  })

const read = ({ body, status }: Answer): Effect.Effect<Redeemed, DialFailed> => {
  const { authorities, certificate, epoch, message, number } = parseObject(body)
  const isWhole = typeof authorities === "string" && typeof epoch === "string" && typeof number === "number"
  if (status === 200 && typeof certificate === "string" && isWhole)
    return Effect.succeed({ certificatePem: certificate, authoritiesPem: authorities, sequence: { epoch, number } })
  const words = quotation(typeof message === "string" ? message : body) || `HTTP ${status}`
  return Effect.fail(
    status >= 400 && status < 500
      ? failed("Refused", words)
      : failed("Unreachable", `the primary has not redeemed the token: ${words}`)
  )
}

/** `pinProblem`: why a chain is not a cell's under the authority with this pin at a time, a clause. */
export const redeemToken = (
  options: RedeemOptions,
  pinProblem: (leaf: X509Certificate, pin: string, now: number) => string | undefined
): Effect.Effect<Redeemed, DialFailed> => {
  let end: () => void = () => undefined
  const redeeming = Effect.gen(function* () {
    const socket = yield* dialCell(options.address, {}, (begun) => {
      end = () => void begun.destroy()
    })
    const certificate = socket.getPeerX509Certificate()
    const now = yield* Clock.currentTimeMillis
    const problem = certificate === undefined ? "no certificate was shown" : pinProblem(certificate, options.pin, now)
    if (problem !== undefined) return yield* untrusted(certificate, problem)
    const answer = yield* Effect.mapError(post(socket, options), (why) =>
      failed("Unreachable", `the primary at ${options.address} has not answered: ${quotation(why)}`)
    )
    return yield* read(answer)
  })
  return Effect.ensuring(
    withPatience(options.address, redeeming),
    Effect.sync(() => end())
  )
}
