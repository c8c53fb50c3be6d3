/**
 * The client of the playground's story, as the story uses it: by the strict client of lab/client, or by mirrord's own.
 *
 * Not here: the demands of the story on what the client sees (story.ts).
 */

import type { Effect } from "effect"
import type { SessionId } from "../../src/domain/sessions/session-id.ts"
import type { ClientFailed } from "../client/client-failed.ts"
import type { Hangs } from "./awaited.ts"
import type { AnyRunningCluster } from "./local-cluster.ts"

export type Awaited<A> = Effect.Effect<A, ClientFailed | Hangs>

/** A client with an open session. It ends with the scope in which it was opened. */
export interface StoryClient {
  /** Which client it is, for people. */
  readonly title: string
  readonly id: SessionId
  /** The variables of the session. */
  readonly environment: Awaited<ReadonlyMap<string, string>>
  /** The text of a file of the target. */
  readonly file: (path: string) => Awaited<string>
  /** The first words of the target's Service on {@link greetingPort}, by an outgoing connection. */
  readonly greeting: Awaited<{ readonly peer: string; readonly greeting: string }>
  /** Has the local process answer the requests that enter at these clusters. */
  readonly steal: (workloads: ReadonlyArray<AnyRunningCluster>) => Awaited<void>
  /** Waits for a few pongs, and fails if there was one too many; missing where the client shows none. */
  readonly pings?: Awaited<{ readonly pongs: number }>
  /** Begins to listen for a word about a cluster; the inner effect waits for that. */
  readonly warningAbout: (cluster: AnyRunningCluster) => Effect.Effect<Awaited<string>>
  /** Waits for its end, once its session has been ended. */
  readonly ended: Awaited<void>
}

/** The demo workload, by its name as a target and as a Service. */
export const demoName = "myapp"
/** The port of the demo workload that is stolen. */
export const httpPort = 80
/** The port at which the demo workload speaks first. */
export const greetingPort = 7000
/** So begins each answer of the local process. */
export const localMark = "local process:"
export const localAnswer = (method: string, uri: string): string => `${localMark} ${method} ${uri}\n`
