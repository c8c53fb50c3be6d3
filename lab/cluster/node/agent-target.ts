/**
 * The contract between the kubelet and an agent: one container of one pod, as an agent works on it. The real agent
 * reaches the container through the container runtime, `/proc` and iptables; the stand-in kubelet hands it over as an
 * object. The agent itself is in `lab/agent`.
 */

import type { Duplex } from "node:stream"
import type { Endpoint } from "../network/endpoint.ts"

/** A TCP connection that was on its way to a port of the target and was handed to the agent instead. */
export interface RedirectedConnection {
  /** All bytes of the connection, from the first on. */
  readonly socket: Duplex
  /** The client's address. */
  readonly source: Endpoint
  /** The address and port of the target that the client dialled. */
  readonly destination: Endpoint
  /** Opens the connection to the application that the client would have without an agent. */
  readonly connectToApplication: () => Duplex
}

/** One container of one pod. */
export interface AgentTarget {
  /** The environment of the container's process, collected at its start. */
  readonly env: ReadonlyMap<string, string>
  /** Absolute path of the folder that is the container's `/`. */
  readonly root: string
  /** The pod's own address: outgoing connections bind to it, and redirected connections were dialled at it. */
  readonly podIp: string
  /** The cluster's DNS, for names that the system's resolver does not know: name without trailing dot → addresses. */
  readonly resolve: (name: string) => ReadonlyArray<string> | undefined
  /**
   * Sends every new connection to `port` of the target to `accept` instead of the application, until the returned
   * function is called. A port has one owner: an agent arbitrates between its clients itself.
   */
  readonly redirect: (port: number, accept: (connection: RedirectedConnection) => void) => () => void
}
