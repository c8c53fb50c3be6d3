/** The surroundings of an agent that tests of incoming traffic use. */

import type { RunningAgent } from "../agent-harness.ts"

/** Settings of an agent that tests vary. Without them the agent has more patience than any test. */
export interface AgentSettings {
  /** A whole number. */
  readonly httpDetectionTimeoutSecs?: number
}
export const patientSecs = 600

/** A target with an application (`application.ts`) on `targetPort`. */
export interface IncomingWorld {
  /** The port of 127.0.0.1 at which the connections of peers enter. */
  readonly entry: number
  /** The address from which these connections come, as the target sees it. */
  readonly peerIp: string
  readonly podIp: string
  /** Whether the target's port is redirected to an agent. */
  readonly redirected: () => boolean | Promise<boolean>
  readonly startAgent: (settings?: AgentSettings) => Promise<RunningAgent>
  /** Ends the application, so that its port refuses. */
  readonly stopApplication: () => Promise<void>
  readonly close: () => void | Promise<void>
}
