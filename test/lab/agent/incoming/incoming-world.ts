/** The surroundings of an agent that tests of incoming traffic use. */

import type { StealTls } from "../../../../lab/agent/incoming/steal-tls.ts"
import type { RunningAgent } from "../agent-harness.ts"

/** Settings of an agent that tests vary. Without them the agent has more patience than any test. */
export interface AgentSettings {
  /** A whole number. */
  readonly httpDetectionTimeoutSecs?: number
  readonly bodyTimeoutMs?: number
  readonly stealTls?: ReadonlyArray<StealTls>
}
export const patientSecs = 600
/** Bodies of this many bytes are too large for filters. */
export const largestBody = 65_535

/** A target with an application (`application.ts`) on `targetPort`. */
export interface IncomingWorld {
  /** The port of 127.0.0.1 at which the connections of peers enter. */
  readonly entry: number
  /** The address from which these connections come, as the target sees it. */
  readonly peerIp: string
  readonly podIp: string
  /** Whether the target's port is redirected to an agent. */
  readonly redirected: () => boolean | Promise<boolean>
  /** Writes a file of the target and tells its path there. */
  readonly write: (name: string, text: string) => string
  readonly startAgent: (settings?: AgentSettings) => Promise<RunningAgent>
  /** Ends the application, so that its port refuses. */
  readonly stopApplication: () => Promise<void>
  readonly close: () => void | Promise<void>
}

/** The certificate of an application that serves TLS, PEM. */
export interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

export type StartWorld = (tls?: ServerCertificate) => Promise<IncomingWorld>
