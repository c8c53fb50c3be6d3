/**
 * Why a file request ends its whole connection, if it does: the real agent strips the leading slash first, and gives up
 * if there is none.
 */

import type { FileRequest } from "../../../src/domain/protocol/file-messages.ts"

/** The path that a request opens or asks about; `undefined` for all other requests. */
const pathOf = (request: FileRequest): string | undefined => {
  if (request._tag === "Open") return request.value.path
  return request._tag === "Access" ? request.value.pathname : undefined
}

export const fatalPath = (request: FileRequest): string | undefined => {
  const path = pathOf(request)
  return path === undefined || path.startsWith("/") ? undefined : "Path failed with `prefix not found`"
}
