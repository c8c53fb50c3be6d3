/**
 * Judges the answer of a member to a link that can never be a session's: its session id is beyond the largest. The
 * operator itself refuses it, so the upgrade has gone the whole way, through the API server and with its rights.
 *
 * Not here: asking (app/commands/join/try-link.ts), and the right to drive sessions, which the operator asks for later
 * (commands/doctor/needed-rights.ts).
 */

import { type Finding, failed, ok } from "../doctor/finding.ts"

/** 2^64; ids are below it. */
export const impossibleSession = 2n ** 64n

export interface LinkAnswer {
  /** HTTP status; `undefined` if nothing was answered. */
  readonly code: number | undefined
  readonly detail: string
}

/** Whether these are the words in which an operator refuses the id (session/session-id.ts). */
const isOperators = ({ code, detail }: LinkAnswer): boolean => code === 400 && detail.includes("x-session-id")

const fixOf = ({ code }: LinkAnswer): string => {
  switch (code) {
    case 401:
      return "The credentials must be those of the member; make them again."
    case 403:
      return "Upgrade the chart there with operator.multiClusterMember: true; it gives the right to proxy targets."
    case undefined:
      return "A proxy or a firewall on the way must let WebSockets pass."
    default:
      return "Look at the log of the operator there; a proxy on the way must let WebSockets pass."
  }
}

export const judgeLink = (answer: LinkAnswer): Finding => {
  const code = answer.code === undefined ? "" : `HTTP ${answer.code}: `
  return isOperators(answer)
    ? ok("operator", "The upgrade of a link reaches the operator.")
    : failed("operator", `The upgrade of a link does not reach the operator (${code}${answer.detail}).`, fixOf(answer))
}
