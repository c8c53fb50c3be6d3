/**
 * Asks an API server for the time, without credentials: it is that of AWS, and this machine's clock may be wrong.
 *
 * Not here: which difference is made up for (domain/fleet/credentials/eks-token.ts).
 */

import { request as askPlain } from "node:http"
import { request as askTls } from "node:https"
import { Effect } from "effect"
import type { CloudCluster } from "../../ports/cloud-tokens.ts"

/** How long the answer may take, ms. */
const patience = 5_000

type Server = Pick<CloudCluster, "certificateAuthority" | "server">

const askTime = ({ certificateAuthority, server }: Server): Effect.Effect<number | undefined> =>
  Effect.callback<number | undefined>((resume) => {
    const url = new URL("/livez", server)
    const ask = url.protocol === "http:" ? askPlain : askTls
    const unknown = (): void => resume(Effect.succeed(undefined))
    const asked = ask(url, { agent: false, ca: certificateAuthority, timeout: patience }, ({ headers }) => {
      const time = Date.parse(headers.date ?? "")
      resume(Effect.succeed(Number.isNaN(time) ? undefined : time))
      asked.destroy()
    })
    asked
      .on("timeout", () => asked.destroy())
      .on("error", unknown)
      .on("close", unknown)
    asked.end()
    return Effect.sync(() => void asked.destroy())
  })

/**
 * The header `Date` of an answer, whatever the answer is, epoch ms; `undefined` without one. Node throws if the address
 * or the CA cannot be used; the requests to the cluster report that.
 */
export const serverTime = (server: Server): Effect.Effect<number | undefined> =>
  Effect.catchDefect(askTime(server), () => Effect.succeed(undefined))
