/**
 * Marks stolen HTTP requests with the key of the session that they are routed to, so that the local program can tell
 * whose session a request belongs to. The workload's own copy of a request is never changed. Only the head of a request
 * is written again; its further body, and traffic that is no HTTP to the agent, stay as they are.
 */

import type { DaemonTcp } from "../protocol/incoming-messages.ts"
import type { Headers } from "../protocol/shape.ts"
import { isHeaderValue } from "../protocol/text-rules.ts"

const headerName = "mirrord-key"

/** The header of a session's key, ready for the wire. */
export type SessionKeyHeader = Headers[number]

/** The header with a session's key as UTF-8; `undefined` without a key, or for one that no header can hold. */
export const sessionKeyHeader = (key: string | null | undefined): SessionKeyHeader | undefined => {
  if (key === undefined || key === null || key === "") return undefined
  const value = new TextEncoder().encode(key)
  return isHeaderValue(value) ? [headerName, value] : undefined
}

const marked = <T extends { readonly headers: Headers }>(request: T, header: SessionKeyHeader): T => ({
  ...request,
  headers: [...request.headers.filter(([name]) => name.toLowerCase() !== headerName), header]
})

/** The message with the header, in place of one that the request had, if the message begins a request. */
export const markRequest = (message: DaemonTcp, header: SessionKeyHeader): DaemonTcp => {
  switch (message._tag) {
    case "HttpRequest": {
      const { value } = message
      return { ...message, value: { ...value, internalRequest: marked(value.internalRequest, header) } }
    }
    case "HttpRequestFramed": {
      const { value } = message
      return { ...message, value: { ...value, internalRequest: marked(value.internalRequest, header) } }
    }
    case "HttpRequestChunked": {
      const chunk = message.value
      if (chunk._tag === "StartV1") {
        const value = { ...chunk.value, internalRequest: marked(chunk.value.internalRequest, header) }
        return { ...message, value: { ...chunk, value } }
      }
      if (chunk._tag !== "StartV2") return message
      return {
        ...message,
        value: { ...chunk, value: { ...chunk.value, request: marked(chunk.value.request, header) } }
      }
    }
    default:
      return message
  }
}
