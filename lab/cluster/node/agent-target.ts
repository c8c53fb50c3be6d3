import type { Duplex } from "node:stream"
import type { Endpoint } from "../network/endpoint.ts"

/** A TCP connection that was on its way to a port of the target and was handed to the agent instead. */
export interface RedirectedConnection {
  /** The bytes, untouched from the first one. */
  readonly socket: Duplex
  /** Who connected. */
  readonly source: Endpoint
  /** The target's address and port that was dialled. */
  readonly destination: Endpoint
  /** Opens the connection that would have been made without an agent: to the application in the target. */
  readonly connectToApplication: () => Duplex
}

/**
 * What an agent works on: one container of one pod. The real agent reaches it through the container runtime, `/proc`
 * and iptables; the stand-in kubelet hands the same things over as an object.
 */
export interface AgentTarget {
  /** The environment of the container's process, collected at its start. */
  readonly env: ReadonlyMap<string, string>
  /** Absolute path of the folder that is the container's `/`. */
  readonly root: string
  /** The pod's own address: what outgoing connections are bound to and what redirected ones were dialled at. */
  readonly podIp: string
  /**
   * Host names that the cluster's DNS answers, beside what the system's resolver knows: name without trailing dot →
   * addresses.
   */
  readonly resolve: (name: string) => ReadonlyArray<string> | undefined
  /**
   * From now on every new connection to `port` of the target goes to `accept` instead of the application, until the
   * returned function is called. One owner per port: an agent arbitrates between its clients itself.
   */
  readonly redirect: (port: number, accept: (connection: RedirectedConnection) => void) => () => void
}
