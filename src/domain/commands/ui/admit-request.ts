/**
 * Whether a request to the page of `braid ui` is answered. The page acts with a person's own rights, so no other
 * program of the machine and no other page in the same browser may use it.
 *
 * Not here: the server and the comparison of secrets (app/commands/ui/serve-ui.ts).
 */

/** The parts of a request that decide. */
export interface UiRequest {
  readonly method: string
  /** Path without its query. */
  readonly path: string
  /** Headers `Host` and `Origin`. */
  readonly host: string | undefined
  readonly origin: string | undefined
  /** Whether the query of the path has the token of the printed link. */
  readonly hasToken: boolean
  /** Whether the cookie is the page's. */
  readonly hasCookie: boolean
}

export type Admission =
  | { readonly _tag: "Admitted" }
  /** The link: the browser gets the cookie. */
  | { readonly _tag: "LogIn" }
  | { readonly _tag: "Refused"; readonly status: 401 | 403; readonly message: string }

const refused = (status: 401 | 403, message: string): Admission => ({ _tag: "Refused", status, message })

export const authPath = "/auth"

/**
 * Decides on a request. `port`: where the page is served. A foreign name in `Host` is how a page of another site
 * reaches a server of the machine (DNS rebinding); a foreign `Origin` is another page that wants to change something.
 */
export const admitRequest = (request: UiRequest, port: number): Admission => {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  const { hasCookie, hasToken, host, method, origin, path } = request
  if (host === undefined || !hosts.includes(host))
    return refused(403, `This server has the name ${hosts[0]}; open the link that braid has printed.`)
  const reads = method === "GET" || method === "HEAD"
  if (path === authPath && reads)
    return hasToken
      ? { _tag: "LogIn" }
      : refused(401, "The token is not the one of this run; open the link that braid has printed last.")
  if (!hasCookie) return refused(401, "Open the link that braid has printed.")
  if (!reads && origin !== `http://${host}`)
    return refused(403, "The request comes from another page; use the page that braid ui serves.")
  return { _tag: "Admitted" }
}
