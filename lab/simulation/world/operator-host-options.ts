import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import type { FleetConfiguration } from "../../../src/domain/fleet/configuration.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { Kernel } from "../kernel/kernel.ts"
import type { Network } from "./network.ts"
import type { PipeEnd } from "./pipe.ts"
import type { FaultPlan } from "./port-calls.ts"
import type { ApiServer } from "./sim-api-server.ts"
import type { WorldEvent } from "./world-event.ts"

export interface OperatorHostOptions {
  readonly kernel: Kernel
  readonly network: Network
  readonly emit: (event: WorldEvent) => void
  readonly server: ApiServer
  readonly fleet: FleetConfiguration | undefined
  /** How many replicas elect a leader; missing: there is one process, and no election. */
  readonly replicas: number | undefined
  readonly member: (name: string) => { readonly server: ApiServer; readonly host: ReplicaHost } | undefined
  /** Dials an agent's pod in this cluster. */
  readonly dialAgent: (from: PipeEnd, host: string, port: number) => FrameChannel | undefined
  readonly faults: () => FaultPlan
}

/** A connect request on its way: how it ends, and the way to give it up. */
export interface ConnectOutcome {
  readonly opened: (channel: FrameChannel) => void
  /** Without code: there was no answer. */
  readonly refused: (code: number | undefined, reason: string, message: string) => void
}

/** What a replica needs of the host that it runs on. */
export interface ReplicaHost {
  /** Calls that left this operator so far. */
  readonly calls: number
  readonly countCall: () => void
  /** Connects to the replica that serves. Gives what gives the attempt up. */
  readonly connect: (from: PipeEnd, request: ConnectRequest, outcome: ConnectOutcome, pulse?: number) => () => void
}
