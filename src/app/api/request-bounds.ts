/**
 * Bounds on what the callers of the API may hold at once: requests that wait for their answers, and upgraded
 * connections. Sizes of requests are bounded where they are read (aggregated-api.ts, routes.ts).
 */

import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import { type ApiError, internalError } from "./status.ts"

/** Bounds that an installation may choose. */
export interface RequestBounds {
  /** Requests of one user that wait for their answers. */
  readonly requestsPerUser: number
  /** Upgraded connections of all users and primaries. */
  readonly connections: number
}

/** The bounds unless an installation chooses others. */
export const defaultRequestBounds: RequestBounds = { requestsPerUser: 200, connections: 2_000 }

/** Header bytes of one request; a request with more counts as several. */
const headersOfOne = 64 * 1024

/** How many requests a request counts as. Connect parameters may make up to 17 of it (operator-api.md §2.3). */
export const weightOf = ({ rawHeaders, url = "" }: IncomingMessage): number =>
  Math.ceil(rawHeaders.reduce((bytes, text) => bytes + text.length, url.length + 1) / headersOfOne)

/** Gives back once, however often it is called. */
const once = (act: () => void): (() => void) => {
  let isDone = false
  return () => {
    if (!isDone) act()
    isDone = true
  }
}

/** The requests and connections of one server. Each `take` gives the function that gives back. */
export class TakenByCallers {
  readonly #bounds: RequestBounds
  readonly #requests = new Map<string, number>()
  #connections = 0

  constructor(bounds: RequestBounds) {
    this.#bounds = bounds
  }

  /** Counts a request of a user. A request is never refused for its weight alone. */
  takeRequest(user: string, weight: number): Result.Result<() => void, ApiError> {
    const { requestsPerUser } = this.#bounds
    const before = this.#requests.get(user) ?? 0
    if (before > 0 && before + weight > requestsPerUser) {
      return Result.fail(
        internalError(
          `The bound of requests of user ${user} that wait for their answers is reached: ${requestsPerUser} are ` +
            "allowed (the chart's value bounds.requestsPerUser), and a request with large headers counts as several; " +
            "try again when some of them are answered, or ask an administrator to raise the value."
        )
      )
    }
    this.#requests.set(user, before + weight)
    return Result.succeed(
      once(() => {
        const left = (this.#requests.get(user) ?? 0) - weight
        if (left > 0) this.#requests.set(user, left)
        else this.#requests.delete(user)
      })
    )
  }

  /** Counts an upgraded connection, or a connection that is to be upgraded. */
  takeConnection(): Result.Result<() => void, ApiError> {
    const { connections } = this.#bounds
    if (this.#connections >= connections) {
      return Result.fail(
        internalError(
          `The bound of connections of all users is reached: there are ${connections}, and no more are allowed (the ` +
            "chart's value bounds.connections); try again when sessions have ended, or ask an administrator to raise " +
            "the value."
        )
      )
    }
    this.#connections++
    return Result.succeed(once(() => void this.#connections--))
  }
}
