/**
 * The cell's port of redemptions, the only one that asks for no certificate: takes a token and a certificate request,
 * once for each connection, and answers with a certificate.
 *
 * Not here: whether a token is good (domain/outbound), and how many may ask (guarded-listener.ts).
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import type { Socket } from "node:net"
import { Effect, Exit, FiberSet, Redacted, Result, type Scope } from "effect"
import { parseObject } from "../../domain/json.ts"
import type { CellOptions, Redemption } from "../../ports/tunnel.ts"
import { addressOf, type ListenerBounds } from "./guarded-listener.ts"

/** The one path of the port. */
export const redeemPath = "/redeem"
/** Longest body of a redemption, in bytes. */
const maxBody = 8 * 1024

/** An answer that is not the redemption's own: a status of HTTP, and a sentence. */
interface Refusal {
  readonly status: number
  readonly message: string
}

const refusal = (status: number, message: string): Result.Result<never, Refusal> => Result.fail({ status, message })

const readBody = async (request: IncomingMessage): Promise<Result.Result<string, Refusal>> => {
  const chunks: Array<Buffer> = []
  let length = 0
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) break
    length += chunk.length
    if (length > maxBody) return refusal(413, `the redemption has more than ${maxBody} bytes`)
    chunks.push(chunk)
  }
  return Result.succeed(Buffer.concat(chunks).toString("utf8"))
}

/** The redemption in a request. Nothing that it holds is ever repeated in an answer. */
const readRedemption = async (
  request: IncomingMessage,
  outside: CellOptions["outside"]
): Promise<Result.Result<Redemption, Refusal>> => {
  const why = outside(addressOf(request.socket))
  if (why !== undefined) return refusal(403, why)
  if (request.url !== redeemPath) return refusal(404, `there is ${redeemPath} here, and no other path`)
  if (request.method !== "POST") return refusal(405, "a token is redeemed with POST")
  const text = await readBody(request)
  if (Result.isFailure(text)) return Result.fail(text.failure)
  const { request: requestPem, token } = parseObject(text.success)
  return typeof token === "string" && typeof requestPem === "string"
    ? Result.succeed({ token: Redacted.make(token), requestPem, from: addressOf(request.socket) })
    : refusal(400, "the redemption is not JSON with the texts token and request")
}

/** The server of redemptions, which does not listen itself. Redemptions that have begun end with the scope. */
export const redemptionServer = (
  { outside, redeem }: Pick<CellOptions, "outside" | "redeem">,
  { handshake, redemption: time }: ListenerBounds
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime()
    const answer = (response: ServerResponse, status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json", connection: "close" })
      response.end(JSON.stringify(body))
    }
    const redeemed = (redemption: Redemption) =>
      redeem(redemption).pipe(
        Effect.map(({ authoritiesPem: authorities, certificatePem: certificate, sequence }) => ({
          status: 200,
          body: { certificate, authorities, ...sequence }
        })),
        Effect.catch(({ mayPass = false, message }) =>
          Effect.succeed({ status: mayPass ? 503 : 401, body: { message } })
        )
      )
    const timers = new WeakMap<Socket, NodeJS.Timeout>()
    const server = createServer({ handshakeTimeout: handshake }, (request, response) => {
      response.on("error", () => undefined)
      readRedemption(request, outside).then(
        (read) => {
          clearTimeout(timers.get(request.socket))
          if (Result.isFailure(read)) return answer(response, read.failure.status, { message: read.failure.message })
          run(redeemed(read.success)).addObserver((exit) => {
            if (Exit.isSuccess(exit)) answer(response, exit.value.status, exit.value.body)
            else answer(response, 500, { message: "the primary's operator could not redeem the token; see its log" })
          })
        },
        () => void response.destroy()
      )
    })
    // Node's own bounds of time are those of a server that listens itself.
    return server.on("secureConnection", (socket) => {
      const timer = setTimeout(() => socket.destroy(), time)
      timers.set(socket, timer)
      socket.once("close", () => clearTimeout(timer))
    })
  })
