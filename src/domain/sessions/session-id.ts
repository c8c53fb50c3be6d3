/**
 * The id of a session: its forms in requests, lists and names of objects.
 *
 * Not here: the names themselves (names.ts).
 */

import type { Brand } from "effect/Brand"
import * as Result from "effect/Result"
import { cleanText } from "../clean-text.ts"

/** A session's id: an unsigned 64-bit number that the client makes (operator-api.md §8.1). */
export type SessionId = bigint & Brand<"SessionId">

const limit = 1n << 64n

/** For numbers that are known to be in range; throws otherwise, which is a mistake of the program. */
export const sessionId = (value: bigint): SessionId => {
  if (value < 0n || value >= limit) throw new RangeError(`session id ${value} is not an unsigned 64-bit number`)
  return value as SessionId
}

/** Why a text names no session. `message` is a sentence for the client. */
export interface SessionIdError {
  readonly _tag: "Missing" | "NotDecimal" | "OutOfRange" | "NotAnId"
  readonly message: string
}

const shown = (text: string): string => JSON.stringify(cleanText(text, 64))

/** Reads the header `x-session-id`: decimal digits of an unsigned 64-bit number (operator-api.md §2.1). */
export const parseSessionIdHeader = (text: string | undefined): Result.Result<SessionId, SessionIdError> => {
  if (text === undefined || text === "") {
    return Result.fail({
      _tag: "Missing",
      message: "The header x-session-id is missing; send the session's id in decimal."
    })
  }
  if (!/^[0-9]+$/u.test(text)) {
    return Result.fail({
      _tag: "NotDecimal",
      message: `The header x-session-id is ${shown(text)}; it must be the session's id in decimal digits.`
    })
  }
  return (
    parseDigits(text) ??
    Result.fail({
      _tag: "OutOfRange",
      message: `The header x-session-id is ${shown(text)}; it must be below 2^64.`
    })
  )
}

const parseDigits = (text: string): Result.Result<SessionId, never> | undefined => {
  const digits = text.replace(/^0+(?=.)/u, "")
  if (digits.length > 20 || BigInt(digits) >= limit) return undefined
  return Result.succeed(sessionId(BigInt(digits)))
}

/** Upper-case hex without padding: how the client prints ids, and how sessions are listed (operator-api.md §8.2). */
export const sessionIdHex = (id: SessionId): string => id.toString(16).toUpperCase()

/** 16 lower-case hex digits: the part of an object's name. */
export const sessionIdName = (id: SessionId): string => id.toString(16).padStart(16, "0")

/**
 * Reads an id as `DELETE sessions/<id>` may carry it (operator-api.md §4.3): as listed (upper-case hex without
 * padding), decimal, or an object's name `mc-<hex>` / `mc-copy-<hex>`. A text of digits only can be hex and decimal at
 * once, so every reading comes back, the listed form first; take the first one that is live.
 */
export const parseSessionReference = (text: string): Result.Result<ReadonlyArray<SessionId>, SessionIdError> => {
  const named = /^mc-(?:copy-)?([0-9a-fA-F]{1,16})$/u.exec(text)?.[1]
  if (named !== undefined) return Result.succeed([sessionId(BigInt(`0x${named}`))])
  const readings: Array<SessionId> = []
  if (/^[0-9a-fA-F]{1,16}$/u.test(text)) readings.push(sessionId(BigInt(`0x${text}`)))
  const decimal = /^[0-9]+$/u.test(text) ? parseDigits(text) : undefined
  if (decimal !== undefined && Result.isSuccess(decimal)) readings.push(decimal.success)
  if (readings.length > 0) return Result.succeed([...new Set(readings)])
  return Result.fail({
    _tag: "NotAnId",
    message: `${shown(text)} names no session; give its id as listed, in decimal, or as mc-<16 hex digits>.`
  })
}
