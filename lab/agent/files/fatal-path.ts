/**
 * Why a file request ends its whole connection, if it does: the real agent strips the leading slash first, and gives up
 * if there is none.
 */

import type { FileRequest } from "../../../src/domain/protocol/file-messages.ts"

export const fatalPath = (request: FileRequest): string | undefined => {
  const path =
    request._tag === "Open" ? request.value.path : request._tag === "Access" ? request.value.pathname : undefined
  return path === undefined || path.startsWith("/") ? undefined : "Path failed with `prefix not found`"
}
