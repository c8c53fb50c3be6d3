/**
 * Protocol versions (wire.md §5). A version is its text; comparing follows semver precedence, requirements follow the
 * `>=x.y.z` of upstream's semver crate, which no pre-release ever meets.
 */

import * as Order from "effect/Order"

/** The version that this project speaks: mirrord-protocol of mirrord 3.250.0. */
export const protocolVersion = "1.29.0"

/** The version that an agent assumes of a client that has not announced any. */
export const unannouncedVersion = "1.2.2"

/** The least version for each extension that the router or the agent has to look at (wire.md §5.2). */
export const gate = {
  switchProtocolVersion: "1.3.0",
  httpFramed: "1.3.0",
  readyForLogs: "1.3.1",
  httpFilteredUpgrade: "1.5.0",
  httpChunkedRequest: "1.7.0",
  httpChunkedResponse: "1.8.1",
  compositeFilter: "1.11.0",
  mirrorBlocked: "1.12.0",
  openLocal: "1.13.3",
  infoLog: "1.13.4",
  forbiddenWithReason: "1.17.0",
  httpChunkedRequestV2: "1.19.0",
  modeAgnosticHttpRequests: "1.19.4",
  operatorPing: "1.19.8",
  methodFilter: "1.20.0",
  mirrorHttpFilter: "1.21.1",
  outgoingConnectV2: "1.22.0",
  bodyFilter: "1.23.0",
  reverseDns: "1.25.0",
  headerJqFilter: "1.26.0",
  seqpacket: "1.27.0",
  systemFailure: "1.28.0",
  shareLink: "1.29.0"
} as const

interface Parts {
  readonly numbers: ReadonlyArray<bigint>
  readonly pre: ReadonlyArray<string>
  readonly build: ReadonlyArray<string>
}

const split = (version: string): Parts => {
  const plus = version.indexOf("+")
  const main = plus < 0 ? version : version.slice(0, plus)
  const dash = main.indexOf("-")
  const identifiers = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split("."))
  return {
    numbers: (dash < 0 ? main : main.slice(0, dash)).split(".").map((part) => (/^\d+$/.test(part) ? BigInt(part) : 0n)),
    pre: identifiers(dash < 0 ? "" : main.slice(dash + 1)),
    build: identifiers(plus < 0 ? "" : version.slice(plus + 1))
  }
}

/** Numeric identifiers by value and before words. */
const compareIdentifier = (a: string, b: string): number => {
  const [isNumericA, isNumericB] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumericA && isNumericB) return Order.BigInt(BigInt(a), BigInt(b))
  if (isNumericA !== isNumericB) return isNumericA ? -1 : 1
  return Order.String(a, b)
}

/** One after the other; fewer before more. */
const compareIdentifiers = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const result = compareIdentifier(a[i] ?? "", b[i] ?? "")
    if (result !== 0) return result
  }
  return a.length - b.length
}

/** Below 0 if `a` comes before `b`. Build metadata counts last, as in the semver crate. */
export const compareVersions = (a: string, b: string): number => {
  const [x, y] = [split(a), split(b)]
  for (let i = 0; i < 3; i++) {
    const result = Order.BigInt(x.numbers[i] ?? 0n, y.numbers[i] ?? 0n)
    if (result !== 0) return result
  }
  if (x.pre.length === 0 || y.pre.length === 0) {
    if (x.pre.length !== y.pre.length) return x.pre.length === 0 ? 1 : -1
  } else {
    const result = compareIdentifiers(x.pre, y.pre)
    if (result !== 0) return result
  }
  return compareIdentifiers(x.build, y.build)
}

export const minVersion = (a: string, b: string): string => (compareVersions(a, b) <= 0 ? a : b)

/** Whether a peer of this version understands a message that was added in `least`. */
export const atLeast = (version: string, least: string): boolean =>
  split(version).pre.length === 0 && compareVersions(version, least) >= 0
