import { once } from "node:events"
import { createServer, request } from "node:https"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import { listenLocally } from "./listen-locally.ts"

export interface ChangedApiServer {
  readonly server: string
  readonly caPem: string
  readonly close: () => Promise<void>
}

/**
 * The same API server behind another address and CA: its clock is off by `skew` ms, and its certificates are as old as
 * `now` says (epoch ms).
 */
export const changedApiServer = async (
  to: { readonly server: string; readonly caPem: string },
  { now = Date.now(), skew = 0 }
): Promise<ChangedApiServer> => {
  const authority = await createAuthority("changed", () => now)
  const { certPem, keyPem } = await authority.issue({
    commonName: "changed",
    sans: [{ type: "ip", value: "127.0.0.1" }]
  })
  const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    const { host: _, ...headers } = incoming.headers
    const forwarded = request(
      `${to.server}${incoming.url ?? ""}`,
      { method: incoming.method, headers, ca: to.caPem },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, {
          ...answer.headers,
          date: new Date(Date.now() + skew).toUTCString()
        })
        answer.pipe(outgoing)
      }
    )
    forwarded.on("error", () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  return {
    server: `https://127.0.0.1:${await listenLocally(server)}`,
    caPem: authority.caPem,
    close: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}
