/** The parts of a world that an operator's host and its replicas use, and the parts of a host that a replica uses. */

import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { Kernel } from "../kernel/kernel.ts"
import type { FaultPlan } from "./call-faults.ts"
import type { CredentialMakers } from "./credential-makers.ts"
import type { MemberAuthors } from "./member-authors.ts"
import type { MemberPlans } from "./member-plan.ts"
import type { Network } from "./network.ts"
import type { OutboundPeople } from "./outbound-people.ts"
import type { PipeEnd } from "./pipe.ts"
import type { PrimaryFiles } from "./primary-files.ts"
import type { Road } from "./road.ts"
import type { ApiServer } from "./sim-api-server.ts"
import type { SimTunnels } from "./tunnels.ts"
import type { WorldEvent } from "./world-event.ts"

/** The sources of a primary's fleet. */
export interface PrimarySources {
  /** The files of its configuration. */
  readonly files: PrimaryFiles
  readonly plans: MemberPlans
  readonly authors: MemberAuthors
  readonly makers: CredentialMakers
}

export interface OperatorHostOptions {
  readonly kernel: Kernel
  readonly network: Network
  readonly emit: (event: WorldEvent) => void
  readonly server: ApiServer
  /** Missing for an operator that is no primary. */
  readonly sources: PrimarySources | undefined
  /** Number of replicas that elect a leader; undefined: one process, no election. */
  readonly replicas: number | undefined
  /** Whether the clusters of a fleet are shared among the replicas. */
  readonly sharding: boolean
  /** Whether agents are ephemeral containers. */
  readonly ephemeralAgents: boolean
  /** Whether operators make branches of databases. */
  readonly branches: boolean
  /** Whether sessions are traced. */
  readonly traces: boolean
  readonly member: (name: string) => { readonly server: ApiServer; readonly host: ReplicaHost } | undefined
  /** Dials an agent's pod in this cluster. */
  readonly dialAgent: (from: PipeEnd, host: string, port: number) => DialledAgent
  readonly faults: () => FaultPlan
  /** The members that dial out, and all that leads to them; missing in a world without. */
  readonly outbound: OutboundWorld | undefined
}

/** The part of a world that is about members that dial out. */
export interface OutboundWorld {
  readonly members: ReadonlyArray<string>
  readonly tunnels: SimTunnels
  readonly people: OutboundPeople
  /** Hours for which the certificate of a member is valid. */
  readonly certificateHours: number
}

/** A connection to an agent; `undefined` if the address refuses it, "no answer" if it stays silent. */
export type DialledAgent = FrameChannel | "no answer" | undefined

/** The two ways in which a connect request ends. */
export interface ConnectOutcome {
  readonly opened: (channel: FrameChannel) => void
  /** A refusal; without a code there was no answer. */
  readonly refused: (code: number | undefined, reason: string, message: string) => void
}

/** A connect request of another operator. */
export interface LinkOptions {
  /** Time between two pings, ms. */
  readonly pulse: number
  /** The token that it carries, if the API server is to know its sender by one. */
  readonly bearer?: string
  /** Its way; the network unless given. */
  readonly road?: Road
}

/** The host, as a replica on it sees it. */
export interface ReplicaHost {
  /** Calls that left this operator so far. */
  readonly calls: number
  readonly countCall: () => void
  /** Connects to the replica that serves. The returned function gives the attempt up. */
  readonly connect: (from: PipeEnd, request: ConnectRequest, outcome: ConnectOutcome, link?: LinkOptions) => () => void
}
