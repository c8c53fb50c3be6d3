/**
 * Whether a request to the API of `braid ui` is answered, which mirrord's browser extension and other programs of the
 * person use. Its token stands in a file of the person, so the page itself is not behind it (admit-request.ts).
 *
 * Not here: the server and the comparison of secrets (app/commands/ui/serve-ui.ts).
 */

import { authPath } from "./admit-request.ts"

/** The parts of a request that decide. */
export interface ApiRequest {
  readonly method: string
  /** Path without its query. */
  readonly path: string
  readonly isUpgrade: boolean
  /** Headers `Host` and `Origin`. */
  readonly host: string | undefined
  readonly origin: string | undefined
  /** Whether the token is right in the query, in the cookie, and in its header. */
  readonly hasToken: boolean
  readonly hasCookie: boolean
  readonly hasHeader: boolean
}

export type ApiAdmission =
  /** `setsCookie`: the browser gets the cookie with the answer. */
  | { readonly _tag: "Admitted"; readonly setsCookie: boolean }
  | { readonly _tag: "LogIn" }
  | { readonly _tag: "Refused"; readonly status: 401 | 403 }

const refused = (status: 401 | 403): ApiAdmission => ({ _tag: "Refused", status })

const reads = (method: string): boolean => method === "GET" || method === "HEAD"

/** The path that programs ask whether the server is there; it tells nothing else. */
const healthPath = "/health"

/** Pages of browser extensions, which no site can make itself. */
const isExtension = (origin: string): boolean => /^(?:chrome|moz|safari-web)-extension:\/\/[^/]+$/u.test(origin)

/**
 * Whether the page that asks may change something. A cookie comes with each request of a browser to this machine, also
 * of a page of another port, so such a request must be of this server's own page. Only who knows the token can send it
 * in its header: a program without a page, or the extension.
 */
const mayChange = ({ hasHeader, host, origin }: ApiRequest): boolean =>
  origin === `http://${host ?? ""}` || (hasHeader && (origin === undefined || isExtension(origin)))

const isOpen = ({ isUpgrade, method, path }: ApiRequest, wanted: string): boolean =>
  path === wanted && !isUpgrade && reads(method)

/** Decides on a request. `port`: where the API is served. */
export const admitApiRequest = (request: ApiRequest, port: number): ApiAdmission => {
  const { hasCookie, hasHeader, hasToken, host, isUpgrade, method, origin } = request
  if (host === undefined || ![`127.0.0.1:${port}`, `localhost:${port}`].includes(host)) return refused(403)
  if (isOpen(request, healthPath)) return { _tag: "Admitted", setsCookie: false }
  if (isOpen(request, authPath)) return hasToken ? { _tag: "LogIn" } : refused(401)
  if (!hasCookie && !hasHeader) return refused(401)
  const isForeign = isUpgrade
    ? origin !== undefined && origin !== `http://${host}`
    : !reads(method) && !mayChange(request)
  return isForeign ? refused(403) : { _tag: "Admitted", setsCookie: !hasCookie }
}

/** The path to go to after the log-in: one of this server, or its root. To browsers `/\` is `//`, a foreign server. */
export const redirectTarget = (wanted: string | null): string =>
  wanted !== null && /^\/(?![/\\])[^\r\n]*$/u.test(wanted) ? wanted : "/"
