import type { FileRequest } from "../../../src/domain/protocol/file-messages.ts"

/**
 * Why a file request ends its connection, if it does: upstream strips the leading slash before anything else, and gives
 * up on everything if there is none.
 */
export const fatalPath = (request: FileRequest): string | undefined => {
  const path =
    request._tag === "Open" ? request.value.path : request._tag === "Access" ? request.value.pathname : undefined
  return path === undefined || path.startsWith("/") ? undefined : "Path failed with `prefix not found`"
}
