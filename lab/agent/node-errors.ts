/** Reads what Node throws: as an answer to a client, or as text for a log. */

import { getSystemErrorMessage } from "node:util"
import type { ResponseError } from "../../src/domain/protocol/response-error.ts"
import { agentError, systemError } from "./io-errors.ts"

/** The (positive) error number of a failed system call; `undefined` for other failures. */
export const errnoOf = (error: unknown): number | undefined => {
  if (!(error instanceof Error) || !("errno" in error) || typeof error.errno !== "number") return undefined
  return Math.abs(error.errno)
}

/**
 * The answer for an error of Node: the system's error number, or `InvalidInput` for arguments that Node itself refuses.
 */
export const responseError = (error: unknown): ResponseError => {
  const number = errnoOf(error)
  if (number !== undefined && number < 4000) return systemError(number)
  if (error instanceof RangeError || error instanceof TypeError) return agentError("InvalidInput")
  return agentError("Other")
}

/** The error in the words of the real agent's log: `Connection reset by peer (os error 104)`. */
export const describeError = (error: unknown): string => {
  const number = errnoOf(error)
  if (number === undefined) return error instanceof Error ? error.message : String(error)
  const text = getSystemErrorMessage(-number) ?? "unknown error"
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} (os error ${number})`
}
