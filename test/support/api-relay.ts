import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http"
import https from "node:https"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import { listenLocally } from "./listen-locally.ts"

/** A request that came to the relay. */
export interface RelayedRequest {
  readonly url: URL
  readonly isWatch: boolean
  /** The server's answer so far, up to some thousand characters; 0 and "" before it answered. */
  status: number
  head: string
}

/**
 * Stands between a client and an API server and lets go wrong what goes wrong in networks and servers. Bearer tokens
 * pass, client certificates do not.
 */
export interface ApiRelay {
  readonly server: string
  readonly caPem: string
  /** Every request that came, oldest first. */
  readonly seen: ReadonlyArray<RelayedRequest>
  /** The next requests, so many, are answered with 429 and this `Retry-After`, in seconds. */
  readonly refuse: (count: number, retryAfter: number) => void
  /**
   * Answers that are under way break off with their connections, end in order, or break off in the middle of the next
   * line.
   */
  readonly breakOff: (how: "reset" | "end" | "mid-line") => void
  /**
   * Answers that are under way get no further, and nobody tells the client. New requests are carried. Says how many it
   * froze.
   */
  readonly freeze: () => number
  /** `shut`: connections are closed at once; `deaf`: requests get no answer at all, not even later. */
  readonly set: (mode: "carrying" | "shut" | "deaf") => void
  readonly close: () => Promise<void>
}

interface UnderWay {
  readonly res: ServerResponse
  readonly upstream: ClientRequest
  state: "carried" | "frozen" | "cut"
}

const headLimit = 4096

export const startApiRelay = async (target: { readonly server: string; readonly caPem: string }): Promise<ApiRelay> => {
  const authority = await createAuthority("relay", Date.now)
  const { certPem, keyPem } = await authority.issue({ commonName: "relay", sans: [{ type: "ip", value: "127.0.0.1" }] })
  const agent = new https.Agent({ ca: target.caPem, keepAlive: false })
  const seen: Array<RelayedRequest> = []
  const underWay = new Set<UnderWay>()
  let mode: "carrying" | "shut" | "deaf" = "carrying"
  let refusals = 0
  let retryAfter = 0

  const carry = (req: IncomingMessage, res: ServerResponse, entry: RelayedRequest): void => {
    const { host: _host, connection: _connection, ...headers } = req.headers
    const upstream = https.request(new URL(req.url ?? "/", target.server), {
      agent,
      method: req.method ?? "GET",
      headers
    })
    const one: UnderWay = { res, upstream, state: "carried" }
    underWay.add(one)
    const broken = (): void => {
      if (one.state !== "frozen") res.destroy()
    }
    upstream.on("error", broken)
    upstream.on("response", (answer) => {
      entry.status = answer.statusCode ?? 0
      if (one.state !== "frozen") {
        res.writeHead(entry.status, answer.headers)
        res.flushHeaders()
      }
      answer.on("error", broken)
      answer.on("data", (chunk: Buffer) => {
        if (entry.head.length < headLimit) entry.head += chunk.toString("utf8")
        if (one.state === "frozen") return
        if (one.state === "carried") return void res.write(chunk)
        one.state = "frozen"
        res.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => res.destroy())
      })
      answer.on("end", () => {
        if (one.state !== "frozen") res.end()
      })
    })
    res.on("close", () => {
      underWay.delete(one)
      upstream.destroy()
    })
    req.pipe(upstream)
  }

  const server = https.createServer({ cert: certPem, key: keyPem }, (req, res) => {
    const url = new URL(req.url ?? "/", target.server)
    const entry: RelayedRequest = { url, isWatch: url.searchParams.get("watch") === "true", status: 0, head: "" }
    seen.push(entry)
    res.on("error", () => {})
    if (mode === "shut") return void req.socket.destroy()
    if (mode === "deaf") return
    if (refusals === 0) return carry(req, res, entry)
    refusals--
    entry.status = 429
    res.writeHead(429, { "retry-after": String(retryAfter), "content-type": "application/json" })
    res.end(
      JSON.stringify({
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "TooManyRequests",
        code: 429,
        message: "too many requests, please try again later"
      })
    )
  })
  return {
    server: `https://127.0.0.1:${await listenLocally(server)}`,
    caPem: authority.caPem,
    seen,
    refuse: (count, seconds) => {
      refusals = count
      retryAfter = seconds
    },
    breakOff: (how) => {
      for (const one of underWay) {
        if (how === "reset") one.res.destroy()
        else if (how === "mid-line") one.state = "cut"
        else {
          one.state = "frozen"
          one.res.end()
        }
      }
    },
    freeze: () => {
      const carried = [...underWay].filter(({ state }) => state !== "frozen")
      for (const one of carried) one.state = "frozen"
      return carried.length
    },
    set: (wanted) => {
      mode = wanted
    },
    close: async () => {
      for (const { upstream } of underWay) upstream.destroy()
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
